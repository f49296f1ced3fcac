// node validate.js FOLDER FILE...: validates GLB files with the gltf-validator installed in FOLDER. Writes one JSON line per
// file: errors, warnings, and the messages as "CODE pointer". Exit code 0 whatever the files are like.
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, ...files] = process.argv.slice(2);
const validator = require(path.join(path.resolve(folder), 'node_modules', 'gltf-validator'));

(async () => {
  for (const file of files) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {uri: file, maxIssues: 0});
    const {numErrors: errors, numWarnings: warnings, messages} = report.issues;
    console.log(JSON.stringify({errors, warnings, messages: messages.map((m) => `${m.code} ${m.pointer}`)}));
  }
})();
