/**
 * The declarations of `src/sdk.ts`: those that the compiler emits, and the one file of them that the editors of authors of
 * plugins read (`types/sdk.d.ts`).
 */
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { root } from '../repository.ts'

const entry = 'src/sdk.d.ts'
/** In `types/sdk.d.ts` a file `src/lib/x.ts` is the module `hermes-gateway:lib/x`. */
const scheme = 'hermes-gateway:'

/** Path from the root, such as `src/sdk.d.ts` → text. Throws when the declarations cannot be emitted. */
export function sdkDeclarations({ comments }: { readonly comments: boolean }): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-api-'))
  try {
    const out = emitDeclarations(folder, [entry.replace('.d.ts', '.ts')], { comments })
    return new Map(
      globSync('**/*.d.ts', { cwd: out })
        .sort()
        .map((path) => [path, readFileSync(join(out, path), 'utf8')]),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Emits the declarations of source files and of everything that they import. Returns the directory of the declarations,
 * which corresponds to the root. Does not check the sources, because `npm run check` does.
 * @param folder empty
 * @param files paths from the root
 */
export function emitDeclarations(
  folder: string,
  files: readonly string[],
  { comments }: { readonly comments: boolean },
): string {
  const project = join(folder, 'tsconfig.json')
  const out = join(folder, 'out')
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    noCheck: true,
    removeComments: !comments,
    outDir: out,
    rootDir: root,
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const sources = files.map((file) => join(root, file))
  const settings = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files: sources }
  writeFileSync(project, JSON.stringify(settings))
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { stdio: 'pipe' })
  return out
}

/**
 * One file that declares `#sdk`, so that an editor needs no sources of the gateway. Each file of the sources that the
 * API refers to is an ambient module in it, because declarations of different files may have the same name.
 */
export function sdkTypes(): string {
  const declarations = sdkDeclarations({ comments: true })
  const modules = reachableFrom(entry, declarations).map(
    (path) => `declare module '${moduleOf(path)}' {\n${ambient(path, declarations.get(path) ?? '')}}\n`,
  )
  const names = ['#sdk', 'hermes-gateway/sdk'].map(
    (name) => `declare module '${name}' {\n    export * from '${moduleOf(entry)}';\n}\n`,
  )
  const head =
    '/**\n * The types of `#sdk`, generated from `src/sdk.ts` by `npm run docs`. `hermes plugins new` writes a tsconfig.json that\n * includes this file.\n */\n'
  return [head, ...names, ...modules].join('\n')
}

const importPattern = /(?<=\bfrom |\bimport\()(?<quote>['"])(?<path>\.{1,2}\/[^'"]+)\.ts\k<quote>/g

function reachableFrom(start: string, declarations: ReadonlyMap<string, string>): string[] {
  const found = new Set([start])
  // A set is iterated in the order of insertion, including entries that are added meanwhile.
  for (const path of found) {
    const text = declarations.get(path)
    if (text === undefined) throw new Error(`no declarations of ${path}`)
    for (const { groups } of text.matchAll(importPattern)) found.add(resolve(path, groups?.['path'] ?? ''))
  }
  return [...found].sort()
}

function resolve(from: string, path: string): string {
  return `${posix.join(posix.dirname(from), path)}.d.ts`
}

function moduleOf(path: string): string {
  return `${scheme}${path.replace(/^src\//, '').replace(/\.d\.ts$/, '')}`
}

/** An ambient module declares without `declare`, and imports by absolute names. */
function ambient(file: string, text: string): string {
  return text
    .replace(importPattern, (_whole, quote: string, path: string) => `${quote}${moduleOf(resolve(file, path))}${quote}`)
    .replace(/^(?<exported>export )?declare /gm, (_whole, exported: string | undefined) => exported ?? '')
    .replace(/^(?=.)/gm, '    ')
}
