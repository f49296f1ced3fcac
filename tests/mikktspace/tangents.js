// node tangents.js FOLDER IN OUT: tangents of the mikktspace package installed in FOLDER. IN holds float32 positions (3), normals (3)
// and texture coordinates (2) of corners, one array after the other; OUT gets float32 tangents (4).
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, input, output] = process.argv.slice(2);
const {generateTangents} = require(path.join(path.resolve(folder), 'node_modules', 'mikktspace'));
const bytes = fs.readFileSync(input);
const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const corners = floats.length / 8;
const tangents = generateTangents(
    floats.slice(0, 3 * corners), floats.slice(3 * corners, 6 * corners), floats.slice(6 * corners));
fs.writeFileSync(output, new Uint8Array(tangents.buffer, tangents.byteOffset, tangents.byteLength));
