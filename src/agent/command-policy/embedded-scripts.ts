/**
 * Finds program text that a command runs: `bash -c`, `eval`, a pipe into a shell, `python -c`.
 */
import { type Field, hasOption, hasUnknown, joinLiterals, literalText, operands, sourceText } from './field.ts'
import { type RuleMatch, requireApproval, type SimpleCommand } from './rule.ts'
import { wrappedCommands } from './wrappers.ts'

export interface EmbeddedScript {
  /** Shell text to analyze as a script; undefined when the text is not shell or is known only at run time. */
  readonly shell?: string | undefined
  readonly match?: RuleMatch | undefined
}

const shellText = requireApproval('shell-text', 'runs a command passed as text (`-c`); run the command itself instead')
const unknownScript = requireApproval('unknown-script', 'runs program text that is known only at run time')
const pipedShell = requireApproval('piped-shell', 'passes the output of another command, or a text, to a shell')
const evalText = requireApproval('eval', 'evaluates text as a command')
const inlineCode = requireApproval(
  'inline-code',
  'runs program text from the command line or a pipe; write a file and run that instead',
)

/** The script that a shell without a script file reads from its input. */
function scriptsFromInput({ input }: SimpleCommand, match: RuleMatch): EmbeddedScript[] {
  switch (input.kind) {
    case 'none':
      return []
    case 'file':
      return hasUnknown(input.field) ? [{ match: unknownScript }] : []
    case 'open':
      return [{ match }]
    case 'text':
    case 'pipe':
      return [{ shell: input.text, match }]
  }
}

const readsStdin = (field: Field | undefined) =>
  field === undefined || /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(literalText(field) ?? '')

const shellNames = /^(?:r?bash|sh|dash|ash|zsh|[mo]?ksh|fish|t?csh)$/
const commandOption = /^(?:-[a-z]*c|--command)$/

/** Returns the program texts that a command runs. */
export function findEmbeddedScripts(command: SimpleCommand): EmbeddedScript[] {
  const { name, args } = command
  if (shellNames.test(name)) return shellScripts(command)
  if (isInterpreter(name)) return interpreterScripts(command)
  switch (name) {
    case 'eval':
      return [{ shell: joinLiterals(args), match: args.length === 0 ? undefined : evalText }]
    case 'source':
    case '.':
      return sourcedScripts(command)
    case 'trap': {
      const operandFields = literalText(args[0]) === '--' ? args.slice(1) : args
      return operandFields.length > 1 ? [scriptFromFields(operandFields.slice(0, 1))] : []
    }
    case 'alias':
      return args.flatMap((field) => (sourceText(field).includes('=') ? [scriptFromAlias(field)] : []))
    case 'watch':
    case 'parallel':
      return [scriptFromFields(args.slice(firstOperand(args, name === 'watch' ? 'nd' : 'jnNSaI')))]
    case 'ssh':
      return remoteScripts(args)
    case 'at':
    case 'batch':
      return scriptsFromInput(command, pipedShell)
    case 'sudo':
    case 'doas':
      // Without a command these options start a shell.
      return hasOption(args, 'si', ['shell', 'login']) && wrappedCommands(name, args).length === 0
        ? scriptsFromInput(command, pipedShell)
        : []
    case 'su':
      return args.some((field) => /^(?:-[a-z]*c|--command)/.test(literalText(field) ?? ''))
        ? scriptsAfterOption(args, commandOption)
        : scriptsFromInput(command, pipedShell)
    case 'runuser':
    case 'script':
    case 'flock':
    case 'sg':
      return scriptsAfterOption(args, commandOption)
    case 'env':
      return scriptsAfterOption(args, /^(?:-[a-z]*S|--split-string)$/, /^-[a-z]*S(.+)$/s)
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return args.some((field) => /\bsystem\s*\(|\|\s*getline|\|\s*"/.test(sourceText(field)))
        ? [{ match: inlineCode }]
        : []
    default:
      return []
  }
}

function scriptFromFields(fields: readonly Field[]): EmbeddedScript {
  const shell = joinLiterals(fields)
  return { shell, match: shell === undefined ? unknownScript : undefined }
}

function scriptFromAlias(field: Field): EmbeddedScript {
  const text = literalText(field)
  return text === undefined ? { match: unknownScript } : { shell: text.slice(text.indexOf('=') + 1) }
}

/** `joint` matches an option that contains its text. */
function scriptsAfterOption(
  args: readonly Field[],
  option: RegExp,
  joint: RegExp = /^--(?:command|split-string)=(.*)$/s,
): EmbeddedScript[] {
  return args.flatMap((field, index) => {
    const text = literalText(field) ?? ''
    const [, attached] = /^--(?:command|split-string)=(.*)$/s.exec(text) ?? joint.exec(text) ?? []
    if (attached !== undefined) return [{ shell: attached }]
    const next = args[index + 1]
    return option.test(text) && next !== undefined ? [scriptFromFields([next])] : []
  })
}

/** The index of the first word that is neither an option nor the value of one of the options in `valueOptions`. */
function firstOperand(args: readonly Field[], valueOptions: string): number {
  let index = 0
  while (index < args.length) {
    const text = literalText(args[index])
    if (text === undefined || !/^-./.test(text)) break
    index += text.length === 2 && valueOptions.includes(text.charAt(1)) ? 2 : 1
  }
  return index
}

function remoteScripts(args: readonly Field[]): EmbeddedScript[] {
  const remoteCommand = args.slice(firstOperand(args, 'BbcDEeFIiJLlmOopQRSWw') + 1)
  return remoteCommand.length === 0 ? [] : [scriptFromFields(remoteCommand)]
}

function shellScripts(command: SimpleCommand): EmbeddedScript[] {
  const { args } = command
  if (args.some((field) => /^--(?:version|help)$/.test(literalText(field) ?? ''))) return []
  let index = 0
  let takesText = false
  let takesInput = false
  while (index < args.length) {
    const text = literalText(args[index])
    if (text === undefined || !/^[-+]./.test(text) || text === '--') break
    if (/^-[a-zA-Z]*c/.test(text) || text === '--command') takesText = true
    if (/^-[a-zA-Z]*s[a-zA-Z]*$/.test(text)) takesInput = true
    index += /^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(text) ? 2 : 1
  }
  if (literalText(args[index]) === '--') index += 1
  const operand = args[index]
  if (takesText) {
    if (operand === undefined) return []
    const shell = literalText(operand)
    return [{ shell, match: shell === undefined ? unknownScript : shellText }]
  }
  if (takesInput || readsStdin(operand)) return scriptsFromInput(command, pipedShell)
  return operand !== undefined && hasUnknown(operand) ? [{ match: unknownScript }] : []
}

function sourcedScripts(command: SimpleCommand): EmbeddedScript[] {
  const [file] = operands(command.args)
  if (file === undefined) return []
  if (readsStdin(file)) return scriptsFromInput(command, pipedShell)
  return hasUnknown(file) ? [{ match: unknownScript }] : []
}

interface Interpreter {
  /** Option letters that take program text. */
  readonly codeOptions: RegExp
  /** Option letters whose value is the rest of the word, or the next word. */
  readonly valueOptions: string
  /** An option that names the program in another way. */
  readonly programOption?: RegExp
}

const interpreters: readonly (readonly [RegExp, Interpreter])[] = [
  [/^(?:python|pypy)[\d.]*$/, { codeOptions: /[ce]/, valueOptions: 'mWXQ', programOption: /^-[a-zA-Z]*m/ }],
  [/^perl[\d.]*$/, { codeOptions: /[eEc]/, valueOptions: 'IMmxFDC0' }],
  [/^ruby[\d.]*$/, { codeOptions: /[ec]/, valueOptions: 'IrCEFKTWx' }],
  [/^(?:node|nodejs|bun|tsx)$/, { codeOptions: /[epc]/, valueOptions: 'rC', programOption: /^--test/ }],
  [/^php[\d.]*$/, { codeOptions: /[rRB]/, valueOptions: 'dfcz' }],
  [/^(?:lua[\d.]*|luajit|Rscript|osascript|elixir|julia|ghc|groovy|scala)$/, { codeOptions: /e/, valueOptions: 'l' }],
]

function findInterpreter(name: string): Interpreter | undefined {
  return interpreters.find(([pattern]) => pattern.test(name))?.[1]
}

const isInterpreter = (name: string) => findInterpreter(name) !== undefined

/** The program text that an interpreter runs: from an option, or from its input when no file is named. */
function interpreterScripts(command: SimpleCommand): EmbeddedScript[] {
  const interpreter = findInterpreter(command.name)
  return interpreter === undefined ? [] : scriptsInArguments(command, command.args, interpreter)
}

function scriptsInArguments(
  command: SimpleCommand,
  args: readonly Field[],
  interpreter: Interpreter,
): EmbeddedScript[] {
  const [field, ...rest] = args
  const text = literalText(field)
  if (readsStdin(field)) return scriptsFromInput(command, inlineCode)
  if (text === undefined) return field !== undefined && hasUnknown(field) ? [{ match: unknownScript }] : []
  const option = classifyOption(text, interpreter)
  if (option === 'code') return [{ match: inlineCode }]
  if (option === 'program') return []
  return scriptsInArguments(command, option === 'value-option' ? rest.slice(1) : rest, interpreter)
}

/** `program`: the remaining words belong to the program. `value-option`: the next word is the value of the option. */
function classifyOption(
  text: string,
  { codeOptions, valueOptions, programOption }: Interpreter,
): 'code' | 'program' | 'value-option' | 'option' {
  if (!text.startsWith('-') || programOption?.test(text) === true) return 'program'
  if (/^--(?:eval|print|execute|run)(?:=|$)/.test(text)) return 'code'
  if (/^--?(?:v|V|h|version|help)$/.test(text)) return 'program'
  if (text.startsWith('--')) return 'option'
  if (codeOptions.test(lettersBeforeValue(text, valueOptions))) return 'code'
  return text.length === 2 && valueOptions.includes(text.charAt(1)) ? 'value-option' : 'option'
}

function lettersBeforeValue(option: string, valueOptions: string): string {
  const letters = [...option.slice(1)]
  const end = letters.findIndex((letter) => valueOptions.includes(letter))
  return letters.slice(0, end < 0 ? letters.length : end).join('')
}
