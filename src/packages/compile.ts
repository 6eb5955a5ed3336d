/**
 * Compiles the gateway to JavaScript, because Node removes no types below `node_modules`: one bundle for each file that is loaded by
 * its path (the program, a platform, a plugin, a thread, `#sdk`), and chunks of what they share. The result has the folders of the
 * repository, so that a path relative to a source file leads to the same file in it.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { bundledPackages, bundleFileName } from './bundled-packages.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

const entryPoints = [
  'src/cli/launch.mjs',
  'src/sdk.ts',
  'src/hosts/node/{main,strip-types}.mjs',
  'src/**/*-{thread,worker}.ts',
  'platforms/*/adapter.ts',
  'plugins/**/index.ts',
  'hooks/*/handler.ts',
  'test/kit/testing.ts',
]

/** Modules that the page loads one by one. */
const pageModules = 'src/lib/{html-entities,markdown-emphasis,markdown-lexer,markdown-math}.ts'

/** @param out receives JavaScript only */
export async function compile(out: string): Promise<void> {
  const common = {
    absWorkingDir: root,
    outdir: out,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    logLevel: 'warning',
  } as const
  const { outputFiles } = await build({
    ...common,
    entryPoints: entryPoints.flatMap((pattern) => globSync(pattern, { cwd: root })),
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[hash]',
    plugins: [packagesPlugin, locationPlugin],
    write: false,
  })
  for (const { path, text } of outputFiles) {
    const packages = relative(dirname(path), join(out, 'packages'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(
      path,
      text.replace(/(?<=["'])#packages\/[^"']+/g, (name) => `${packages}/${name.slice(10)}.mjs`),
    )
  }
  await build({ ...common, entryPoints: globSync(pageModules, { cwd: root }) })
}

/** Pages load their modules unchanged. */
const servedPackages = ['marked', 'uplot', 'uqr']

/** Packages stay outside, because the files of users import some of them, too. Their bundles are in `packages/`. */
const packagesPlugin: Plugin = {
  name: 'packages',
  setup(context) {
    context.onResolve({ filter: /^[a-z@]/ }, ({ path, kind }) => {
      if (kind === 'entry-point' || path.startsWith('node:')) return undefined
      const isBundled = servedPackages.includes(path) || bundledPackages.includes(path)
      return { path: isBundled ? `#packages/${bundleFileName(path)}` : path, external: true }
    })
    context.onResolve({ filter: /^#sdk$/ }, () => ({ path: join(root, 'src/sdk.ts') }))
  },
}

/** A module has the URL of its source, wherever its code is. */
const locationPlugin: Plugin = {
  name: 'location',
  setup(context) {
    context.onResolve({ filter: /^#location$/ }, ({ path }) => ({ path, namespace: 'location' }))
    // Several entries import it, so that it is in a file of `chunks/`.
    context.onLoad({ filter: /.*/, namespace: 'location' }, () => ({
      contents: `export const location = new URL('..', import.meta.url).href`,
    }))
    context.onLoad({ filter: /\.(?:ts|mjs)$/, namespace: 'file' }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.')) return undefined
      const contents = text
        .replace(/(?<=new URL\((?<quote>['`])[^'`]+)\.ts(?=\k<quote>, import\.meta\.url\))/g, '.mjs')
        .replaceAll('node_modules/.hermes/', 'packages/')
        .replace(
          /import\.meta\.resolve\('(?:@mermaid-js\/)?(marked|uplot|uqr|katex|tiny)'\)/g,
          "import.meta.resolve('#packages/$1')",
        )
        .replaceAll('import.meta.url', `(location + ${JSON.stringify(relative(root, path))})`)
      return {
        contents: `import { location } from '#location';${contents}`,
        loader: path.endsWith('.ts') ? 'ts' : 'js',
      }
    })
  },
}
