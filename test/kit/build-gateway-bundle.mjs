/**
 * Bundles the sources of the gateway for processes of tests: `build-gateway-bundle.mjs <directory> <main source> [globs]`.
 * The globs name the files that the gateway imports by a computed name. The fewer entries, the fewer files.
 */
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const [directory = '', ...globs] = process.argv.slice(2)
const unfinished = `${directory}.${process.pid}`
const entryPoints = globSync(globs, { cwd: root })

await build({
  absWorkingDir: root,
  entryPoints,
  outbase: '.',
  outdir: unfinished,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
  plugins: [
    {
      name: 'own-url',
      setup(building) {
        // A source that looks for files beside itself must find them.
        building.onLoad({ filter: /[\\/](?:src|platforms)[\\/].*\.(?:ts|mjs)$/ }, ({ path }) => ({
          contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
          loader: path.endsWith('.ts') ? 'ts' : 'js',
        }))
      },
    },
  ],
})
writeFileSync(`${unfinished}/entries.json`, JSON.stringify(entryPoints))
try {
  renameSync(unfinished, directory)
} catch {
  // Another test process was faster.
  rmSync(unfinished, { recursive: true, force: true })
}
