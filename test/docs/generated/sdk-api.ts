/**
 * Generates the declarations of the public API: the output of `tsc` for `src/sdk.ts`, in the groups of that file, without
 * comments. Each change of the API changes the page.
 */
import { posix } from 'node:path'
import { referredDeclarations, sdkDeclarations } from '../../../src/packages/sdk-declarations.ts'
import { textOf } from '../repository.ts'

const entry = 'src/sdk.ts'

interface ExportedName {
  readonly name: string
  /** In the file that declares it. */
  readonly declaredAs: string
  /** From the root. */
  readonly file: string
}

interface Group {
  readonly title: string
  readonly names: readonly ExportedName[]
}

/** Throws when the declarations cannot be emitted, or an exported name has no declaration. */
export function sdkApi(): string {
  const emitted = sdkDeclarations({ comments: false })
  const declarations = (file: string): string => emitted.get(file.replace(/\.ts$/, '.d.ts')) ?? ''
  const groups = groupsIn(textOf(entry)).map(({ title, names }) => ({
    title,
    texts: names.map(({ declaredAs, file }) => declarationOf(declaredAs, declarations(file), file)),
  }))
  return [...groups, { title: 'Types that these refer to', texts: referredDeclarations(emitted) }]
    .map(({ title, texts }) => `## ${title}\n\n\`\`\`typescript\n${texts.join('\n\n')}\n\`\`\``)
    .join('\n\n')
}

/** A comment `// Title` begins a group. */
function groupsIn(source: string): readonly Group[] {
  return source
    .split(/^\/\/ /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...rest] = text.split('\n')
      return { title, names: exportedNames(rest.join('\n')).sort((a, b) => a.name.localeCompare(b.name)) }
    })
    .filter(({ names }) => names.length > 0)
}

function exportedNames(source: string): ExportedName[] {
  const statements = source.matchAll(/^export (?:type )?\{(?<names>[^}]*)\} from '(?<from>[^']+)'/gm)
  return [...statements].flatMap(({ groups = {} }) => {
    const file = posix.join('src', groups['from'] ?? '')
    return (groups['names'] ?? '')
      .replace(/\/\*\*[\s\S]*?\*\//g, '')
      .split(',')
      .map((part) => part.trim().replace(/^type /, ''))
      .filter((part) => part !== '')
      .map((part) => {
        const [declaredAs = '', name = declaredAs] = part.split(' as ')
        return { name, declaredAs, file }
      })
  })
}

/** From the line that declares the name to the line before the next statement. Overloads follow each other. */
function declarationOf(name: string, text: string, file: string): string {
  const statements = text.split(/^(?=export |import |declare |interface |type |\/\*\*)/m)
  const wanted = new RegExp(`^export (?:declare )?(?:abstract )?(?:interface|type|const|function|class) ${name}\\b`)
  const found = statements.filter((statement) => wanted.test(statement)).map((statement) => statement.trim())
  if (found.length > 0) return found.join('\n')
  const listed = new RegExp(
    `^export (?:type )?\\{[^}]*?(?<part>(?:\\w+ as )?\\b${name})\\b[^}]*\\} from (?<from>'[^']+')`,
    'm',
  )
  const groups = listed.exec(text)?.groups
  if (groups === undefined) throw new Error(`${file} declares no ${name}`)
  return `export type { ${groups['part']} } from ${groups['from']};`
}
