/**
 * Parses the types of a source file: doc comments, members and signatures. Expects the format of Biome.
 */
import { textOf } from '../repository.ts'

export interface Member {
  readonly name: string
  /** Without its doc comment, on one line. */
  readonly signature: string
  readonly doc: string
}

export interface DeclaredType {
  readonly name: string
  readonly doc: string
  /** The names after `extends`. */
  readonly bases: readonly string[]
  /** The members of an interface. */
  readonly members: readonly Member[]
  /** The definition of an alias, on one line; '' for an interface. */
  readonly alias: string
}

/** All interfaces and aliases of a file, in order. */
export function typesIn(path: string): readonly DeclaredType[] {
  const declaration =
    /(?:^\/\*\*(?<doc>(?:(?!\*\/)[\s\S])*)\*\/\n)?^(?:export )?(?:interface (?<name>\w+)(?<generics><[^{]*>)?(?: extends (?<bases>[^{]+))? (?<body>\{\}|\{[\s\S]*?^\})|type (?<alias>\w+)[^=\n]*=(?<text>[\s\S]*?)(?=\n\n|\n\/\*\*|$(?![\s\S])))/gm
  return [...textOf(path).matchAll(declaration)].map(({ groups = {} }) => ({
    name: groups['name'] ?? groups['alias'] ?? '',
    doc: docOf(groups['doc'] ?? ''),
    bases: (groups['bases'] ?? '')
      .split(',')
      .map((base) => base.trim())
      .filter((base) => base !== ''),
    members: membersOf(groups['body'] ?? ''),
    alias: onOneLine(groups['text'] ?? ''),
  }))
}

/** Throws when the file has no type of this name. */
export function typeIn(path: string, name: string): DeclaredType {
  const found = typesIn(path).find((type) => type.name === name)
  if (found === undefined) throw new Error(`${path} declares no type ${name}`)
  return found
}

/** A line with an indentation of two spaces begins a member or its comment, or ends a member. */
function membersOf(body: string): Member[] {
  const members: Member[] = []
  let doc: string[] = []
  let lines: string[] = []
  let inDoc = false
  const end = () => {
    const signature = onOneLine(lines.join('\n')).replace(/^readonly /, '')
    const name = /^\[?(\w+)/.exec(signature)?.[1]
    if (name !== undefined) members.push({ name, signature, doc: docOf(doc.join('\n')) })
    if (name !== undefined) doc = []
    lines = []
  }
  for (const line of body.split('\n').slice(1, -1)) {
    const isOuter = /^ {2}\S/.test(line)
    if (inDoc) doc.push(line)
    else if (/^ {2}\/\*\*/.test(line)) {
      end()
      doc = [line.replace('/**', '')]
      inDoc = true
    } else if (/^ {2}\/\//.test(line)) end()
    else {
      if (isOuter && !/^ {2}[)}>|&]/.test(line)) end()
      lines.push(line)
    }
    if (inDoc && line.includes('*/')) inDoc = false
  }
  end()
  return members
}

/** The text of a comment, without references to documents that readers of the pages do not have. */
function docOf(comment: string): string {
  return comment
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .replace(/ \((?:[^()]*\bseeds? 00[^()]*|[^()]*contract\/[^()]*|design, [^()]*)\)/g, '')
    .replace(/^Seed 00\d: (?<first>.)/, (_all, first: string) => first.toUpperCase())
    .trim()
}

function onOneLine(text: string): string {
  return text
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .replaceAll('( ', '(')
    .replaceAll(', )', ')')
    .replace(/^\s*\|?\s*/, '')
    .trim()
}

/** A heading for each type, with its doc comment and its members. Throws when a type is missing. */
export function typeReference(path: string, names: readonly string[], level = '###'): string {
  return names
    .map((name) => {
      const { doc, bases, members, alias } = typeIn(path, name)
      const also = bases.length === 0 ? '' : `Extends ${bases.map((base) => `\`${base}\``).join(', ')}.`
      const text = alias === '' ? members.map(memberLine).join('\n') : `\`${alias}\``
      return [`${level} \`${name}\``, doc, also, text].filter((part) => part !== '').join('\n\n')
    })
    .join('\n\n')
}

export function memberLine({ signature, doc }: Member): string {
  return `- \`${signature}\`${doc === '' ? '' : `  \n  ${doc}`}`
}
