// Reads the products whose paths stand on the lines of stdin and prints, as JSON, for each of them an error message (empty: it
// was read and evaluated) and the seconds it took. Anything but a FormatError ends the program.
const fs = require('fs');
const path = require('path');
const {Product, FormatError} = require(path.join(__dirname, '..', '..', 'examples', 'read_product.js'));

async function outcome(file) {
  const bytes = fs.readFileSync(file), begin = process.hrtime.bigint();
  let message = '';
  try {
    const product = await Product.open(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    for (let t = 0; t < 3; ++t) product.evaluate(t, [0.2, 0.3, 0.5]);
  } catch (error) {
    if (!(error instanceof FormatError)) throw new Error(`${file}: ${error.stack}`);
    message = error.message || 'no message';
  }
  return {message, seconds: Number(process.hrtime.bigint() - begin) * 1e-9};
}

(async () => {
  const out = [];
  for (const file of fs.readFileSync(0, 'utf8').split('\n').filter(line => line)) out.push(await outcome(file));
  console.log(JSON.stringify(out));
})().catch(error => {
  console.error(error.message);
  process.exit(1);
});
