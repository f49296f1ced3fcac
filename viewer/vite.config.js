// Builds the viewer as one HTML file without references: it is embedded in the program, served, exported, and opened from disk.
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Puts the script and the style into the page. */
function oneFile() {
  return {
    name: 'heatskin-one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      for (const [name, part] of Object.entries(bundle)) {
        if (part === page) continue;
        const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
        if (part.type === 'chunk') {
          // The text of a script ends at the first </script, wherever that stands.
          const code = part.code.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
          page.source = page.source.replace(new RegExp(`<script[^>]*src="[^"]*${escaped}"[^>]*></script>`), '')
            .replace('</body>', () => `<script type="module" nonce="HEATSKIN_NONCE">${code}</script>\n</body>`);
        } else if (name.endsWith('.css')) {
          page.source = page.source.replace(new RegExp(`<link[^>]*href="[^"]*${escaped}"[^>]*>`),
                                            () => `<style nonce="HEATSKIN_NONCE">${part.source}</style>`);
        } else {
          throw new Error(`${name} cannot be part of the page`);
        }
        delete bundle[name];
      }
    },
  };
}

export default {
  root: here('.'),
  base: './',
  resolve: {
    // packages/three lies outside of this folder and would not find three by itself.
    alias: [
      // The reader's command line, which no page uses, reads files.
      { find: /^fs$/, replacement: here('src/no_files.js') },
      { find: /^heatskin-three$/, replacement: here('../packages/three/src/index.js') },
      { find: /^three$/, replacement: here('node_modules/three/build/three.module.js') },
      { find: /^three\/addons\//, replacement: here('node_modules/three/examples/jsm/') },
    ],
  },
  build: {
    outDir: process.env.HEATSKIN_VIEWER_OUT || here('dist'), emptyOutDir: true, target: 'es2022', modulePreload: false,
    assetsInlineLimit: 1e9, cssCodeSplit: false, chunkSizeWarningLimit: 2000,
    rolldownOptions: { output: { codeSplitting: false } },
  },
  plugins: [oneFile()],
};
