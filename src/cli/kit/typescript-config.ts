/**
 * The `tsconfig.json` of a home: with it an editor and `tsc` know `#sdk`, zod and Node in hooks, plugins and platforms.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeFileAtomic } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'

const sdkTypes = fileURLToPath(new URL('../../../types/sdk.d.ts', import.meta.url))
const sdkSources = fileURLToPath(new URL('../../sdk.ts', import.meta.url))

/**
 * `tsconfig.sdk.json` refers to this installation and is written again each time, because an installation can move.
 * `tsconfig.json` belongs to the owner of the home and is written once.
 */
export function writeTypescriptConfig({ typescriptConfigFile, sdkConfigFile }: HomeLayout): void {
  writeFileAtomic(sdkConfigFile, toJson(sdkConfig()))
  if (existsSync(typescriptConfigFile)) return
  writeFileAtomic(
    typescriptConfigFile,
    toJson({ extends: './tsconfig.sdk.json', include: ['hooks', 'plugins', 'platforms'] }),
  )
}

function sdkConfig(): object {
  const hasTypes = existsSync(sdkTypes)
  const nodeTypes = packageDirectory('@types/node')
  const zod = packageDirectory('zod')
  return {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
      module: 'esnext',
      moduleResolution: 'bundler',
      moduleDetection: 'force',
      allowImportingTsExtensions: true,
      // Node removes the types and runs the rest.
      noEmit: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      strict: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      // Absent in an installation without packages for development. Then `node:` modules have no types.
      ...(nodeTypes === null ? { types: [] } : { types: ['node'], typeRoots: [dirname(nodeTypes)] }),
      // An installation without packages for development has the sources alone.
      paths: { ...(zod !== null && { zod: [zod] }), ...(!hasTypes && { '#sdk': [sdkSources] }) },
    },
    files: hasTypes ? [sdkTypes] : [],
  }
}

/** Null if the package is not installed, as in the container, which has bundles instead. */
function packageDirectory(name: string): string | null {
  const { resolve } = createRequire(import.meta.url)
  try {
    return dirname(resolve(`${name}/package.json`))
  } catch {
    return null
  }
}

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
