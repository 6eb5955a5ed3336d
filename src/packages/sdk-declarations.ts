/**
 * The declarations of `src/sdk.ts`: those that the compiler emits, and the one file of them that the editors of authors of
 * plugins read (`types/sdk.d.ts`), with what the API refers to and nothing else.
 */
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
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
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], { stdio: 'pipe' })
  return out
}

/** Writes `types/sdk.d.ts`. Throws when the compiler is not installed. */
export function writeSdkTypes(): void {
  const file = join(root, 'types/sdk.d.ts')
  const unfinished = `${file}.${process.pid}`
  mkdirSync(join(root, 'types'), { recursive: true })
  writeFileSync(unfinished, sdkTypes())
  renameSync(unfinished, file)
}

/**
 * One file that declares `#sdk`, so that an editor needs no sources of the gateway. Each file of the sources that the
 * API refers to is an ambient module in it, because declarations of different files may have the same name. A module has
 * only those declarations that the API needs.
 */
export function sdkTypes(): string {
  const files = new Map([...sdkDeclarations({ comments: true })].map(([path, text]) => [path, parse(path, text)]))
  const needed = neededFrom(files)
  const modules = [...needed]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, names]) => moduleText(path, files, names))
  const names = ['#sdk', 'hermes-gateway/sdk'].map(
    (name) => `declare module '${name}' {\n    export * from '${moduleOf(entry)}';\n}\n`,
  )
  const head =
    '/**\n * The types of `#sdk`, generated from `src/sdk.ts` at the installation. `hermes plugins new` writes a tsconfig.json that\n * includes this file.\n */\n'
  return [head, ...names, ...modules].join('\n')
}

/** What the API refers to without exporting it: a change of it is a change of the API. @param emitted of `sdkDeclarations` */
export function referredDeclarations(emitted: ReadonlyMap<string, string>): readonly string[] {
  const files = new Map([...emitted].map(([path, text]) => [path, parse(path, text)]))
  const exported = new Set(
    [...(files.get(entry)?.exportedFrom.values() ?? [])].map(({ from, name }) => `${from} ${name}`),
  )
  return [...neededFrom(files)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, names]) =>
      (files.get(path)?.statements ?? [])
        .filter(({ name }) => names.has(name) && !exported.has(`${path} ${name}`))
        .map(({ text }) => text.trim()),
    )
}

/** A name that a file takes from another one, or from a package. */
interface Taken {
  /** The path of the declarations, or the name of a package. */
  readonly from: string
  /** Its name there; `*` for the whole module. */
  readonly name: string
  /** It is no value there. */
  readonly isType: boolean
}

interface DeclarationFile {
  /** With their comments, in their order. */
  readonly statements: readonly { readonly name: string; readonly text: string }[]
  readonly imports: ReadonlyMap<string, Taken>
  readonly exportedFrom: ReadonlyMap<string, Taken>
}

/** The compiler begins each statement at the left margin, as it does comments before it and within it. */
function parse(path: string, text: string): DeclarationFile {
  const statements: { name: string; text: string }[] = []
  const imports = new Map<string, Taken>()
  const exportedFrom = new Map<string, Taken>()
  let comment = ''
  for (const chunk of text.split(/^(?=(?:export|import|declare|interface|type|class) )/m)) {
    const next = /(?<=^|[;}/]\n)\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n$/.exec(chunk)?.[0] ?? ''
    const part = chunk.slice(0, chunk.length - next.length)
    const list = /^(?<kind>import|export) (?<type>type )?\{(?<names>[^}]*)\} from '(?<from>[^']+)'/.exec(part)?.groups
    const whole = /^import (?:type )?\* as (?<local>\w+) from '(?<from>[^']+)'/.exec(part)?.groups
    const declared =
      /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|const|function|class) (?<name>[\w$]+)/.exec(
        part,
      )?.groups
    if (list !== undefined) {
      for (const { name, local, isType } of namesIn(list['names'] ?? '')) {
        const taken = { from: source(path, list['from'] ?? ''), name, isType: isType || list['type'] !== undefined }
        if (list['kind'] === 'import') imports.set(local, taken)
        else exportedFrom.set(local, taken)
      }
    } else if (whole !== undefined)
      imports.set(whole['local'] ?? '', { from: source(path, whole['from'] ?? ''), name: '*', isType: true })
    else if (declared !== undefined) statements.push({ name: declared['name'] ?? '', text: comment + part })
    else if (!/^(?:\s*$|export \{\}|\/\*)/.test(part))
      throw new Error(`${path}: a declaration of an unknown form: ${part.slice(0, 80)}`)
    comment = next
  }
  return { statements, imports, exportedFrom }
}

function namesIn(list: string): { readonly name: string; readonly local: string; readonly isType: boolean }[] {
  return list
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', local = name] = part.replace(/^type /, '').split(' as ')
      return { name, local, isType: part.startsWith('type ') }
    })
}

function source(path: string, from: string): string {
  return from.startsWith('.') ? posix.join(posix.dirname(path), from).replace(/\.ts$/, '.d.ts') : from
}

/** The names that are needed of each file, beginning with what the API exports. */
function neededFrom(files: ReadonlyMap<string, DeclarationFile>): Map<string, Set<string>> {
  const needed = new Map<string, Set<string>>()
  const visit = (path: string, name: string): void => {
    const file = files.get(path)
    // What a package declares is not copied.
    if (file === undefined) return
    const names = needed.get(path) ?? new Set()
    if (names.has(name)) return
    needed.set(path, names.add(name))
    const taken = file.imports.get(name) ?? file.exportedFrom.get(name)
    if (taken !== undefined) visit(taken.from, taken.name)
    for (const statement of file.statements)
      if (statement.name === name) for (const word of wordsOf(statement.text)) if (knows(file, word)) visit(path, word)
  }
  for (const name of files.get(entry)?.exportedFrom.keys() ?? []) visit(entry, name)
  return needed
}

function knows({ statements, imports }: DeclarationFile, word: string): boolean {
  return imports.has(word) || statements.some(({ name }) => name === word)
}

function wordsOf(text: string): ReadonlySet<string> {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
  return new Set(code.match(/[A-Za-z_$][\w$]*/g) ?? [])
}

/** An ambient module declares without `declare`, and imports by absolute names. */
function moduleText(path: string, files: ReadonlyMap<string, DeclarationFile>, names: ReadonlySet<string>): string {
  const {
    statements = [],
    imports = new Map<string, Taken>(),
    exportedFrom = new Map<string, Taken>(),
  } = files.get(path) ?? {}
  const listing = (kind: 'import' | 'export', taken: ReadonlyMap<string, Taken>) =>
    [...taken].flatMap(([local, { from, name, isType }]) => {
      if (!names.has(local)) return []
      const module = files.has(from) ? moduleOf(from) : from
      if (name === '*') return [`import type * as ${local} from '${module}';\n`]
      return [
        `${kind} ${isType ? 'type ' : ''}{ ${name === local ? name : `${name} as ${local}`} } from '${module}';\n`,
      ]
    })
  const declarations = statements
    .filter(({ name }) => names.has(name))
    .map(({ text }) => text.replace(/^(?<exported>export )?declare /m, (_whole, exported = '') => exported))
  const body = [...listing('import', imports), ...listing('export', exportedFrom), ...declarations].join('')
  return `declare module '${moduleOf(path)}' {\n${body.replace(/^(?=.)/gm, '    ')}}\n`
}

function moduleOf(path: string): string {
  return `${scheme}${path.replace(/^src\//, '').replace(/\.d\.ts$/, '')}`
}
