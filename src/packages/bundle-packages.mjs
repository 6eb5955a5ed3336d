/**
 * Bundles each runtime package into one file.
 *
 * A package of three hundred small files must be read at every start and keeps a record per module in memory. One
 * bundled file with a compile cache costs a tenth of the time and half the memory (docs/explanation/performance.md).
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundleDirectory, bundledPackages, bundleFileName, bundleMarkerName } from './bundled-packages.mjs'

/** Packages in CommonJS call `require`. A package may import `createRequire` itself, so the name here is another one. */
const bundleRequire =
  "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);"

/** @param {string} outdir is emptied */
export async function bundlePackages(outdir) {
  await rm(outdir, { recursive: true, force: true })
  /** @satisfies {import('esbuild').BuildOptions} */
  const common = {
    outdir,
    bundle: true,
    // Names stay readable in stack traces.
    minifyWhitespace: true,
    platform: 'node',
    target: 'node24',
    // Optional native parts of packages, used where they are installed.
    external: ['zlib-sync', 'bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
    // Beside the code: one letter outside of ASCII doubles the memory of a source.
    legalComments: 'external',
  }
  await build({
    ...common,
    entryPoints: bundledPackages.map((name) => ({ in: `entry:${name}`, out: bundleFileName(name) })),
    plugins: [entryPointPlugin, nodeFetchPlugin, usedPartsPlugin, englishZodPlugin, fastifyPartsPlugin],
    outExtension: { '.js': '.mjs' },
    splitting: true,
    format: 'esm',
    banner: { js: bundleRequire },
  })
  await build({
    ...common,
    entryPoints: fastifyParts.map((name) => ({ in: name, out: bundleFileName(name) })),
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
  })
  const versions = await Promise.all(bundledPackages.map(async (name) => [name, await installedVersion(name)]))
  const marker = { ...Object.fromEntries(versions), files: await readdir(outdir) }
  await writeFile(`${outdir}/${bundleMarkerName}`, JSON.stringify(marker))
}

/** @param {string} name */
async function installedVersion(name) {
  const manifest = new URL(`../${name}/package.json`, bundleDirectory)
  return JSON.parse(await readFile(manifest, 'utf8')).version
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
 * What a package needs of another one, as a module. The rest would be source text and objects in memory: the socket of Slack needs a
 * fifth of undici, and telegraf asks `whatwg-url` for a class that Node has.
 * @type {Readonly<Record<string, { readonly importer: RegExp, readonly contents: string }>>}
 */
const usedParts = {
  undici: {
    importer: /[\\/]@slack[\\/]socket-mode[\\/]/,
    contents: `
      exports.Agent = require('./lib/dispatcher/agent')
      exports.buildConnector = require('./lib/core/connect')
      exports.fetch = require('./lib/web/fetch').fetch
      Object.assign(exports, require('./lib/web/websocket/websocket'), require('./lib/web/websocket/events'))`,
  },
  'whatwg-url': { importer: /[\\/]node-fetch[\\/]/, contents: 'exports.URL = URL' },
}

/** @type {import('esbuild').Plugin} */
const usedPartsPlugin = {
  name: 'used-parts',
  setup(build) {
    for (const [name, { importer, contents }] of Object.entries(usedParts)) {
      const isRedirected = true
      build.onResolve({ filter: new RegExp(`^${name}$`) }, async ({ path, pluginData, ...from }) => {
        if (pluginData?.isRedirected === true || !importer.test(from.importer)) return undefined
        const { importer: by, resolveDir, kind } = from
        const resolved = await build.resolve(path, { importer: by, resolveDir, kind, pluginData: { isRedirected } })
        return {
          path: resolved.path,
          namespace: 'used-parts',
          pluginData: { contents, resolveDir: dirname(resolved.path) },
        }
      })
    }
    build.onLoad({ filter: /.*/, namespace: 'used-parts' }, ({ pluginData }) => pluginData)
  },
}

/**
 * Parts of fastify that it requires on first use and that the gateway does not use: schemas of routes and the injection of
 * requests. Files of their own keep their sources, 400 kB, out of memory.
 */
const fastifyParts = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

/** @type {import('esbuild').Plugin} */
const fastifyPartsPlugin = {
  name: 'fastify-parts',
  setup(build) {
    build.onResolve({ filter: /^(?:@fastify\/|light-my-request$)/ }, ({ path }) =>
      fastifyParts.includes(path) ? { path: `./${bundleFileName(path)}.cjs`, external: true } : undefined,
    )
  },
}

/**
 * zod with English messages only. The other fifty languages are 300 kB of source in memory.
 * @type {import('esbuild').Plugin}
 */
const englishZodPlugin = {
  name: 'english-zod',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

/**
 * What the bundle exports. The names of a CommonJS package are known only by running it, so they are listed one by one.
 * @param {string} path
 * @param {string[]} names
 */
function entryPointSource(path, names) {
  const hasDefault = names.includes('default') ? `export { default } from '${path}';` : ''
  if (!names.includes('module.exports')) return `export * from '${path}'; ${hasDefault}`
  const plain = names.filter((name) => !reservedExports.has(name) && /^[A-Za-z_$][\w$]*$/.test(name))
  // An import of a package that was compiled from ES modules would yield only its default export.
  return `const whole = require('${path}'); export default whole; export const { ${plain.join(', ')} } = whole;`
}

/** Exports of a CommonJS package beside its own names. */
const reservedExports = new Set(['default', '__esModule', 'module.exports'])
