/**
 * Commands that run program text: `bash -c`, `eval`, a pipe into a shell, `python -c`.
 */
import type { Call } from './call.ts'
import { type Field, hasUnknown, joined, literal, written } from './field.ts'
import { isInterpreter, judgeInterpreter } from './interpreters.ts'
import { hasOption, operands } from './options.ts'
import {
  evaluates,
  fed,
  fedShell,
  inlineCode,
  type RunScript,
  readsInput,
  shellText,
  unknownText,
} from './program-text.ts'
import { innerCommands } from './wrappers.ts'

const shellNames = /^(?:r?bash|sh|dash|ash|zsh|[mo]?ksh|fish|t?csh)$/
const commandOption = /^(?:-[a-z]*c|--command)$/

/** The program text a call runs; empty when it runs none. */
export function scriptsOf(call: Call): RunScript[] {
  const { name, args } = call
  if (shellNames.test(name)) return judgeShell(call)
  if (isInterpreter(name)) return judgeInterpreter(call)
  switch (name) {
    case 'eval':
      return [{ shell: joined(args), finding: args.length === 0 ? undefined : evaluates }]
    case 'source':
    case '.':
      return judgeSource(call)
    case 'trap': {
      const given = literal(args[0]) === '--' ? args.slice(1) : args
      return given.length > 1 ? [textOf(given.slice(0, 1))] : []
    }
    case 'alias':
      return args.flatMap((field) => (written(field).includes('=') ? [aliasText(field)] : []))
    case 'watch':
    case 'parallel':
      return [textOf(args.slice(firstOperand(args, name === 'watch' ? 'nd' : 'jnNSaI')))]
    case 'ssh':
      return remoteText(args)
    case 'at':
    case 'batch':
      return fed(call, fedShell)
    case 'sudo':
    case 'doas':
      // Without a command these options start a shell.
      return hasOption(args, 'si', ['shell', 'login']) && innerCommands(name, args).length === 0
        ? fed(call, fedShell)
        : []
    case 'su':
      return args.some((field) => /^(?:-[a-z]*c|--command)/.test(literal(field) ?? ''))
        ? afterOption(args, commandOption)
        : fed(call, fedShell)
    case 'runuser':
    case 'script':
    case 'flock':
    case 'sg':
      return afterOption(args, commandOption)
    case 'env':
      return afterOption(args, /^(?:-[a-z]*S|--split-string)$/, /^-[a-z]*S(.+)$/s)
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return args.some((field) => /\bsystem\s*\(|\|\s*getline|\|\s*"/.test(written(field)))
        ? [{ finding: inlineCode }]
        : []
    default:
      return []
  }
}

function textOf(fields: readonly Field[]): RunScript {
  const shell = joined(fields)
  return { shell, finding: shell === undefined ? unknownText : undefined }
}

function aliasText(field: Field): RunScript {
  const text = literal(field)
  return text === undefined ? { finding: unknownText } : { shell: text.slice(text.indexOf('=') + 1) }
}

/** `joint`: the option with its text in one word. */
function afterOption(
  args: readonly Field[],
  option: RegExp,
  joint: RegExp = /^--(?:command|split-string)=(.*)$/s,
): RunScript[] {
  return args.flatMap((field, index) => {
    const text = literal(field) ?? ''
    const [, attached] = /^--(?:command|split-string)=(.*)$/s.exec(text) ?? joint.exec(text) ?? []
    if (attached !== undefined) return [{ shell: attached }]
    const next = args[index + 1]
    return option.test(text) && next !== undefined ? [textOf([next])] : []
  })
}

/** The index of the first word that is neither an option nor the value of one of `valued`. */
function firstOperand(args: readonly Field[], valued: string): number {
  let at = 0
  while (at < args.length) {
    const text = literal(args[at])
    if (text === undefined || !/^-./.test(text)) break
    at += text.length === 2 && valued.includes(text.charAt(1)) ? 2 : 1
  }
  return at
}

function remoteText(args: readonly Field[]): RunScript[] {
  const command = args.slice(firstOperand(args, 'BbcDEeFIiJLlmOopQRSWw') + 1)
  return command.length === 0 ? [] : [textOf(command)]
}

function judgeShell(call: Call): RunScript[] {
  const { args } = call
  if (args.some((field) => /^--(?:version|help)$/.test(literal(field) ?? ''))) return []
  let at = 0
  let takesText = false
  let takesInput = false
  while (at < args.length) {
    const text = literal(args[at])
    if (text === undefined || !/^[-+]./.test(text) || text === '--') break
    if (/^-[a-zA-Z]*c/.test(text) || text === '--command') takesText = true
    if (/^-[a-zA-Z]*s[a-zA-Z]*$/.test(text)) takesInput = true
    at += /^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(text) ? 2 : 1
  }
  if (literal(args[at]) === '--') at += 1
  const operand = args[at]
  if (takesText) {
    if (operand === undefined) return []
    const shell = literal(operand)
    return [{ shell, finding: shell === undefined ? unknownText : shellText }]
  }
  if (takesInput || readsInput(operand)) return fed(call, fedShell)
  return operand !== undefined && hasUnknown(operand) ? [{ finding: unknownText }] : []
}

function judgeSource(call: Call): RunScript[] {
  const [file] = operands(call.args)
  if (file === undefined) return []
  if (readsInput(file)) return fed(call, fedShell)
  return hasUnknown(file) ? [{ finding: unknownText }] : []
}
