/**
 * Expands a word of the syntax tree into the fields it may become: quotes go, known variables are put in, braces are
 * spelled out. Several possible values of a variable give several fields, so the answer errs on the side of too many.
 */
import { parse, type Word, type WordPart } from 'unbash'
import { type Field, type FieldPart, textPiece, unknownPiece } from './field.ts'
import { splitBraces } from './split-braces.ts'
import { evaluateSubstitution } from './substitution.ts'

export interface ExpandContext {
  /** The values a variable may have; undefined when they are not known. */
  lookupVariable(name: string, context: ExpandContext): readonly Field[] | undefined
  readonly userHome: string
  /** Where the command stands, if that is known. */
  readonly cwd: string | undefined
  /** Counts down; at 0 everything else is unknown. Stops words that multiply without end. */
  readonly budget: { steps: number }
  /** How many variables deep this expansion is. */
  readonly depth: number
}

/** `break` is a space that separates fields: it comes from an unquoted variable. */
type ExpandedPart = FieldPart | { readonly kind: 'break' }
type Alternatives = readonly (readonly ExpandedPart[])[]

const maxAlternatives = 64

/** The fields of a word; none when it expands to nothing. */
export function expandWord(word: Word, context: ExpandContext): Field[] {
  return expandParts(word.parts ?? [literalPart(word)], false, context).flatMap(toFields)
}

/** The one field a quoted text (a here-document) becomes; several alternatives make it unknown. */
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
  let all: Alternatives = [[]]
  for (const [index, part] of parts.entries()) {
    context.budget.steps -= 1
    if (context.budget.steps <= 0) return [[unknownPiece('…')]]
    const next = expandPart(part, index === 0 && !quoted, quoted, context)
    if (all.length * next.length > maxAlternatives) return [[unknownPiece('…')]]
    all = all.flatMap((before) => next.map((after) => [...before, ...after]))
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
      const value = evaluateSubstitution(part.script, context, expandWord)
      return value === undefined ? [[unknownPiece(part.text)]] : [splitUnquoted(value, quoted)]
    }
    case 'BraceExpansion':
      return expandBraces(part.text, context)
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return [[unknownPiece(part.text)]]
  }
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
  const own = operation.operator.endsWith('+') ? [[]] : expandVariable(part.parameter, part.text, quoted, context)
  if (operation.operator.endsWith('?')) return own
  const { operand } = operation
  return [...own, ...expandParts(operand.parts ?? [literalPart(operand)], quoted, context)]
}

function expandVariable(name: string, text: string, quoted: boolean, context: ExpandContext): Alternatives {
  const values = context.depth > 8 ? undefined : context.lookupVariable(name, { ...context, depth: context.depth + 1 })
  if (values === undefined) return [[unknownPiece(text)]]
  return values.map((value) => splitUnquoted(value, quoted))
}

/** Unquoted, the spaces of a value separate words and its stars match files. */
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
  // Classes such as [:alpha:] are taken for any character: too much rather than too little.
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
