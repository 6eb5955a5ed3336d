/**
 * The values that the variables of a script may have, read from its assignments wherever they stand.
 *
 * The order in which a script runs is not followed: a variable has every value that is assigned to it anywhere.
 */
import { forEachChild, type SyntaxNode, type Word } from 'unbash'
import { type ExpandContext, expandWord } from './expand-word.ts'
import { type Field, textPiece } from './field.ts'

interface KnownVariable {
  readonly words: Word[]
  /** Something is assigned that cannot be read from the text. */
  unknown: boolean
}

export type VariableLookup = ExpandContext['lookupVariable']

/** Commands that fill the variables they name. */
const assigningCommands = new Set(['read', 'mapfile', 'readarray', 'getopts', 'printf', 'let', 'wait'])

/** `outer` answers for variables that this script does not set. */
export function createVariableLookup(script: SyntaxNode, outer: VariableLookup): VariableLookup {
  const known = new Map<string, KnownVariable>()
  collectAssignments(script, (name) => {
    const entry = known.get(name) ?? { words: [], unknown: false }
    known.set(name, entry)
    return entry
  })
  return (name, context) => {
    const entry = known.get(name)
    const before = outer(name, context)
    if (entry === undefined) return before
    if (entry.unknown) return undefined
    const values = entry.words.flatMap((word) => valuesOf(word, context))
    return [...(before ?? []), ...values]
  }
}

/** What every command is given from outside. */
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

/** The value of an assignment is not split into words, unlike that of an argument. */
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
