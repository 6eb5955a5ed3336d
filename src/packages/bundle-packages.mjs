/**
 * Packs each package that is needed at every start into one file, once, when packages are installed (`npm ci`).
 *
 * A package of three hundred small files costs its reading at every start and its module records for ever; as one file
 * with a compile cache it costs a tenth of the time and half the memory (docs/explanation/performance.md). Our own
 * sources are not touched: they run as they lie there.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundleDirectory, bundledPackages } from './bundled-packages.mjs'

const outdir = fileURLToPath(bundleDirectory)

async function bundle() {
  await rm(outdir, { recursive: true, force: true })
  const { build } = await import('esbuild')
  await build({
    entryPoints: bundledPackages.map((name) => ({ in: `entry:${name}`, out: name.replace('/', '__') })),
    plugins: [entryPointPlugin, nodeFetchPlugin],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    // Names stay readable in stack traces.
    minifyWhitespace: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    // Optional parts of packages, in native code: used where somebody has installed them.
    external: ['zlib-sync', 'bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
  })
  await writeFile(`${outdir}/complete`, '')
}

/** @type {import('esbuild').Plugin} */
const entryPointPlugin = {
  name: 'entries',
  setup(build) {
    build.onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice('entry:'.length), namespace: 'entry' }))
    build.onLoad({ filter: /.*/, namespace: 'entry' }, async ({ path }) => {
      const contents = entryPointSource(path, Object.keys(await import(path)))
      return { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) }
    })
  },
}

/**
 * discord.js with Node's `fetch` instead of two copies of undici: `@discordjs/rest` is published in a build for that, and
 * discord.js itself uses no other function of undici.
 * @type {import('esbuild').Plugin}
 */
const nodeFetchPlugin = {
  name: 'node-fetch',
  setup(build) {
    const skip = { isRedirected: true }
    build.onResolve({ filter: /^@discordjs\/rest$/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === skip) return undefined
      const resolved = await build.resolve(path, { importer, resolveDir, kind, pluginData: skip })
      return { path: resolved.path.replace(/index\.(m?js)$/, 'web.$1') }
    })
    build.onResolve({ filter: /^undici$/ }, ({ importer }) =>
      /[\\/]node_modules[\\/]discord\.js[\\/]/.test(importer) ? { path: 'fetch', namespace: 'node-fetch' } : undefined,
    )
    build.onLoad({ filter: /.*/, namespace: 'node-fetch' }, () => ({
      contents: 'module.exports = { fetch: globalThis.fetch }',
    }))
  },
}

/**
 * What the packed file exports. The names of a CommonJS package are known only by running it, so they are written down.
 * @param {string} path
 * @param {string[]} names
 */
function entryPointSource(path, names) {
  const hasDefault = names.includes('default') ? `export { default } from '${path}';` : ''
  if (!names.includes('module.exports')) return `export * from '${path}'; ${hasDefault}`
  const plain = names.filter((name) => !reservedExports.has(name) && /^[A-Za-z_$][\w$]*$/.test(name))
  // Required, not imported: of a package that was itself compiled from ES modules, an import would be its default only.
  return `const whole = require('${path}'); export default whole; export const { ${plain.join(', ')} } = whole;`
}

/** What a CommonJS package exports beside its own names. */
const reservedExports = new Set(['default', '__esModule', 'module.exports'])

try {
  await bundle()
} catch (error) {
  // Without the bundles everything works, only slower: an installation must not fail for it.
  await rm(outdir, { recursive: true, force: true })
  await mkdir(outdir, { recursive: true })
  process.stderr.write(
    `Packages could not be packed; the gateway will start slower. ${error instanceof Error ? error.message : ''}\n`,
  )
}
