/**
 * Expands a word of the syntax tree into the fields it may become: removes quotes, inserts known variables and spells
 * out braces. Several possible values of a variable give several fields, so the result may contain too many.
 */
import { forEachChild, type ParsedScript, parse, type SyntaxNode, type Word, type WordPart } from 'unbash'
import { type Field, type FieldPart, sourceText, textPiece, unknownPiece } from './field.ts'
import { knownOutput } from './known-output.ts'

/** Returns the values that a variable may have; undefined when they are not known. */
export type VariableLookup = (name: string, context: ExpandContext) => readonly Field[] | undefined

export interface ExpandContext {
  readonly lookupVariable: VariableLookup
  readonly userHome: string
  /** The working directory of the command; undefined when it is not known. */
  readonly cwd: string | undefined
  /** Counts down; at 0 everything that remains is unknown. Bounds words that multiply. */
  readonly budget: { steps: number }
  /** How many variables enclose this expansion. */
  readonly depth: number
}

/** `break` is a space of an unquoted variable, which separates fields. */
type ExpandedPart = FieldPart | { readonly kind: 'break' }
type Alternatives = readonly (readonly ExpandedPart[])[]

const maxAlternatives = 64
/** Characters of a variable that cost one step. */
const charsPerStep = 64

/** Returns the fields of a word; none when it expands to nothing. */
export function expandWord(word: Word, context: ExpandContext): Field[] {
  return expandParts(word.parts ?? [literalPart(word)], false, context).flatMap(toFields)
}

/** Expands quoted text, such as a here-document, to one field. The field is unknown when there are several alternatives. */
export function expandQuoted(parts: readonly WordPart[], context: ExpandContext): Field {
  const [only, ...more] = expandParts(parts, true, context)
  if (only === undefined || more.length > 0) return [unknownPiece('…')]
  return toFields(only)[0] ?? []
}

const literalPart = (word: Word): WordPart => ({
  type: 'Literal',
  pos: word.pos,
  end: word.end,
  value: word.value,
  text: word.text,
})

function expandParts(parts: readonly WordPart[], quoted: boolean, context: ExpandContext): Alternatives {
  let all: ExpandedPart[][] = [[]]
  for (const [index, part] of parts.entries()) {
    context.budget.steps -= 1
    if (context.budget.steps <= 0) return [[unknownPiece('…')]]
    const next = expandPart(part, index === 0 && !quoted, quoted, context)
    if (all.length * next.length > maxAlternatives) return [[unknownPiece('…')]]
    const [only, ...others] = next
    // Copying the beginning for every part of a long word would take quadratic time.
    if (only !== undefined && others.length === 0) for (const alternative of all) alternative.push(...only)
    else all = all.flatMap((beginning) => next.map((end) => [...beginning, ...end]))
  }
  return all
}

function expandPart(part: WordPart, first: boolean, quoted: boolean, context: ExpandContext): Alternatives {
  switch (part.type) {
    case 'Literal':
      return [[textPiece(first && part.text.startsWith('~') ? expandTilde(part.value, context) : part.value)]]
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [[textPiece(part.value)]]
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.length === 0 ? [[textPiece('')]] : expandParts(part.parts, true, context)
    case 'Glob':
      return [[globPiece(part.text)]]
    case 'ExtendedGlob':
      return [[{ kind: 'glob', text: part.text, pattern: '[^/]*' }]]
    case 'SimpleExpansion':
      return expandVariable(part.text.slice(1), part.text, quoted, context)
    case 'ParameterExpansion':
      return expandParameter(part, quoted, context)
    case 'CommandExpansion': {
      const value = evaluateSubstitution(part.script, context)
      return value === undefined ? [[unknownPiece(part.text)]] : [splitUnquoted(value, quoted)]
    }
    case 'BraceExpansion':
      return expandBraces(part.text, context)
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return [[unknownPiece(part.text)]]
  }
}

/** The output of `$(…)` where its text determines it; otherwise undefined. */
function evaluateSubstitution(script: ParsedScript | undefined, context: ExpandContext): Field | undefined {
  const command = script?.commands.length === 1 ? script.commands[0]?.command : undefined
  if (command?.type !== 'Command' || command.name === undefined) return undefined
  if (context.depth > 8) return undefined
  const deeper = { ...context, depth: context.depth + 1 }
  const args = command.suffix.flatMap((word) => (word.type === 'Word' ? expandWord(word, deeper) : []))
  return knownOutput(command.name.value, args, context.cwd)
}

function expandParameter(
  part: Extract<WordPart, { type: 'ParameterExpansion' }>,
  quoted: boolean,
  context: ExpandContext,
): Alternatives {
  const { operation } = part
  if (part.prefix !== undefined || part.index !== undefined) return [[unknownPiece(part.text)]]
  if (operation === undefined) return expandVariable(part.parameter, part.text, quoted, context)
  if (operation.type !== 'Default') return [[unknownPiece(part.text)]]
  const prefixes = operation.operator.endsWith('+') ? [[]] : expandVariable(part.parameter, part.text, quoted, context)
  if (operation.operator.endsWith('?')) return prefixes
  const { operand } = operation
  return [...prefixes, ...expandParts(operand.parts ?? [literalPart(operand)], quoted, context)]
}

function expandVariable(name: string, text: string, quoted: boolean, context: ExpandContext): Alternatives {
  const values = context.depth > 8 ? undefined : context.lookupVariable(name, { ...context, depth: context.depth + 1 })
  if (values === undefined) return [[unknownPiece(text)]]
  // A long value can be inserted many times, so it is charged by its length.
  for (const value of values) context.budget.steps -= sourceText(value).length / charsPerStep
  return values.map((value) => splitUnquoted(value, quoted))
}

/** In an unquoted value, spaces separate words and stars match file names. */
function splitUnquoted(value: Field, quoted: boolean): readonly ExpandedPart[] {
  if (quoted) return value.length === 0 ? [textPiece('')] : value
  return value.flatMap((piece): ExpandedPart[] => {
    if (piece.kind !== 'text') return [piece]
    return piece.text
      .split(/(\s+|[*?]|\[[^\]]*\])/)
      .filter((token) => token !== '')
      .map((token) =>
        /^\s/.test(token) ? { kind: 'break' } : /^[*?[]/.test(token) ? globPiece(token) : textPiece(token),
      )
  })
}

function expandBraces(text: string, context: ExpandContext): Alternatives {
  // The inner braces are parsed again on each level.
  context.budget.steps -= text.length / charsPerStep
  if (context.budget.steps <= 0) return [[unknownPiece(text)]]
  const choices = splitBraces(text)
  if (choices === undefined) return [[unknownPiece(text)]]
  return choices.flatMap((choice): Alternatives => {
    if (choice === '') return [[]]
    const command = parse(`: ${choice}`).commands[0]?.command
    const word = command?.type === 'Command' && command.suffix.length === 1 ? command.suffix[0] : undefined
    if (word?.type !== 'Word') return [[unknownPiece(choice)]]
    return expandParts(word.parts ?? [literalPart(word)], false, context)
  })
}

function globPiece(text: string): FieldPart {
  if (text === '*') return { kind: 'glob', text, pattern: '[^/]*' }
  if (text === '?') return { kind: 'glob', text, pattern: '[^/]' }
  const inner = text.slice(1, -1)
  // A class such as [:alpha:] counts as any character, which matches too much rather than too little.
  if (inner === '' || inner.includes('[:')) return { kind: 'glob', text, pattern: '[^/]' }
  const body = inner.replace(/^[!^]/, '').replace(/[\\\]^]/g, '\\$&')
  return { kind: 'glob', text, pattern: /^[!^]/.test(inner) ? `[^/${body}]` : `[${body}]` }
}

function expandTilde(value: string, { userHome, cwd }: ExpandContext): string {
  const [, user = '', rest = ''] = /^~([^/]*)(.*)$/s.exec(value) ?? []
  if (user === '') return userHome + rest
  if (user === 'root') return `/root${rest}`
  if (user === '+') return (cwd ?? '.') + rest
  return user === '-' ? value : `/home/${user}${rest}`
}

function toFields(parts: readonly ExpandedPart[]): Field[] {
  const fields: FieldPart[][] = [[]]
  for (const part of parts) {
    if (part.kind === 'break') fields.push([])
    else fields.at(-1)?.push(part)
  }
  return fields.filter((field) => field.length > 0).map(mergeTexts)
}

function mergeTexts(field: Field): Field {
  const merged: FieldPart[] = []
  for (const piece of field) {
    const last = merged.at(-1)
    if (last?.kind === 'text' && piece.kind === 'text') merged[merged.length - 1] = textPiece(last.text + piece.text)
    else merged.push(piece)
  }
  return merged
}

/**
 * Splits `{a,b{c,d}}` at its own commas into source text. Undefined for sequences such as `{1..9}` and for text that is
 * not a brace expansion.
 */
function splitBraces(text: string): string[] | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined
  const choices: string[] = []
  let current = ''
  let depth = 0
  let quote = ''
  const body = text.slice(1, -1)
  for (let at = 0; at < body.length; at++) {
    const character = body.charAt(at)
    if (character === '\\') {
      current += character + body.charAt(++at)
      continue
    }
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '{' || character === '(') depth += 1
    else if (character === '}' || character === ')') depth -= 1
    else if (character === ',' && depth === 0) {
      choices.push(current)
      current = ''
      continue
    }
    current += character
  }
  return choices.length === 0 ? undefined : [...choices, current]
}

interface KnownVariable {
  readonly words: Word[]
  /** Whether a value is assigned that the text does not show. */
  unknown: boolean
}

/** Commands that assign to the variables named in their arguments. */
const assigningCommands = new Set(['read', 'mapfile', 'readarray', 'getopts', 'printf', 'let', 'wait'])

/**
 * Collects the values that the assignments of a script give to its variables. The order of execution is ignored: a
 * variable has every value that is assigned to it anywhere. `outer` supplies the values from outside the script.
 */
export function createVariableLookup(script: SyntaxNode, outer: VariableLookup): VariableLookup {
  const known = new Map<string, KnownVariable>()
  collectAssignments(script, (name) => {
    const entry = known.get(name) ?? { words: [], unknown: false }
    known.set(name, entry)
    return entry
  })
  return (name, context) => {
    const entry = known.get(name)
    const inherited = outer(name, context)
    if (entry === undefined) return inherited
    if (entry.unknown) return undefined
    const values = entry.words.flatMap((word) => valuesOf(word, context))
    return [...(inherited ?? []), ...values]
  }
}

/** The variables that every command receives from its environment. */
export function predefinedVariables(home: string, userHome: string): VariableLookup {
  return (name, { cwd }) => {
    switch (name) {
      case 'HOME':
        return [[textPiece(userHome)]]
      case 'HERMES_HOME':
        return [[textPiece(home)]]
      case 'PWD':
        return cwd === undefined ? undefined : [[textPiece(cwd)]]
      case 'IFS':
        return [[textPiece(' ')]]
      default:
        return undefined
    }
  }
}

/** An assigned value stays one field even when it is empty; an empty argument disappears. */
function valuesOf(word: Word, context: ExpandContext): Field[] {
  const fields = expandWord(word, context)
  return fields.length === 0 ? [[]] : fields
}

function collectAssignments(node: SyntaxNode, entryOf: (name: string) => KnownVariable): void {
  if (node.type === 'Assignment') {
    const entry = entryOf(node.name)
    if (node.value.type === 'Word') entry.words.push(node.value)
    else entry.words.push(...node.value.elements)
    if (node.append === true || node.index !== undefined) entry.unknown = true
  } else if (node.type === 'For' || node.type === 'Select') {
    const entry = entryOf(node.name.value)
    if (node.wordlist === undefined) entry.unknown = true
    else entry.words.push(...node.wordlist)
  } else if (node.type === 'Command' && assigningCommands.has(node.name?.value ?? '')) {
    for (const word of node.suffix) if (word.type === 'Word') entryOf(word.value).unknown = true
  } else if (node.type === 'ParameterExpansion' && node.operation?.type === 'Default') {
    if (node.operation.operator.endsWith('=')) entryOf(node.parameter).words.push(node.operation.operand)
  }
  forEachChild(node, (child) => collectAssignments(child, entryOf))
}
