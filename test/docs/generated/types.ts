/**
 * Types of a file as data: their doc comments, members and signatures, as they are written. Reads what biome has laid out.
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
  /** Names after `extends`. */
  readonly bases: readonly string[]
  /** Of an interface. */
  readonly members: readonly Member[]
  /** What an alias stands for, on one line; '' for an interface. */
  readonly alias: string
}

/** Every interface and alias of a file, in its order. */
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

/** Throws when there is none of this name. */
export function typeIn(path: string, name: string): DeclaredType {
  const found = typesIn(path).find((type) => type.name === name)
  if (found === undefined) throw new Error(`${path}: there is no type ${name}`)
  return found
}

/** Lines that begin with two spaces begin a member, a comment on one, or end one. */
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

/** Without where it comes from, which readers of pages cannot look up. */
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

/** A heading for each type, with its doc and its members. Throws when one of them is not there. */
export function typeReference(path: string, names: readonly string[], level = '###'): string {
  return names
    .map((name) => {
      const { doc, bases, members, alias } = typeIn(path, name)
      const also = bases.length === 0 ? '' : `Has everything of ${bases.map((base) => `\`${base}\``).join(', ')}, and:`
      const text = alias === '' ? members.map(memberLine).join('\n') : `\`${alias}\``
      return [`${level} \`${name}\``, doc, also, text].filter((part) => part !== '').join('\n\n')
    })
    .join('\n\n')
}

export function memberLine({ signature, doc }: Member): string {
  return `- \`${signature}\`${doc === '' ? '' : `  \n  ${doc}`}`
}
