/**
 * Commands that run program text: `bash -c`, `eval`, a pipe into a shell, `python -c`.
 */

import {
  type EmbeddedScript,
  evalText,
  inlineCode,
  pipedShell,
  readsStdin,
  scriptsFromInput,
  shellText,
  unknownScript,
} from './embedded-script.ts'
import { type Field, hasUnknown, joinLiterals, literalText, sourceText } from './field.ts'
import { interpreterScripts, isInterpreter } from './interpreters.ts'
import { hasOption, operands } from './options.ts'
import type { SimpleCommand } from './simple-command.ts'
import { wrappedCommands } from './wrappers.ts'

const shellNames = /^(?:r?bash|sh|dash|ash|zsh|[mo]?ksh|fish|t?csh)$/
const commandOption = /^(?:-[a-z]*c|--command)$/

/** The program text a call runs; empty when it runs none. */
export function findEmbeddedScripts(call: SimpleCommand): EmbeddedScript[] {
  const { name, args } = call
  if (shellNames.test(name)) return shellScripts(call)
  if (isInterpreter(name)) return interpreterScripts(call)
  switch (name) {
    case 'eval':
      return [{ shell: joinLiterals(args), match: args.length === 0 ? undefined : evalText }]
    case 'source':
    case '.':
      return sourcedScripts(call)
    case 'trap': {
      const given = literalText(args[0]) === '--' ? args.slice(1) : args
      return given.length > 1 ? [scriptFromFields(given.slice(0, 1))] : []
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
      return scriptsFromInput(call, pipedShell)
    case 'sudo':
    case 'doas':
      // Without a command these options start a shell.
      return hasOption(args, 'si', ['shell', 'login']) && wrappedCommands(name, args).length === 0
        ? scriptsFromInput(call, pipedShell)
        : []
    case 'su':
      return args.some((field) => /^(?:-[a-z]*c|--command)/.test(literalText(field) ?? ''))
        ? scriptsAfterOption(args, commandOption)
        : scriptsFromInput(call, pipedShell)
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

/** `joint`: the option with its text in one word. */
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

/** The index of the first word that is neither an option nor the value of one of `valued`. */
function firstOperand(args: readonly Field[], valued: string): number {
  let at = 0
  while (at < args.length) {
    const text = literalText(args[at])
    if (text === undefined || !/^-./.test(text)) break
    at += text.length === 2 && valued.includes(text.charAt(1)) ? 2 : 1
  }
  return at
}

function remoteScripts(args: readonly Field[]): EmbeddedScript[] {
  const command = args.slice(firstOperand(args, 'BbcDEeFIiJLlmOopQRSWw') + 1)
  return command.length === 0 ? [] : [scriptFromFields(command)]
}

function shellScripts(call: SimpleCommand): EmbeddedScript[] {
  const { args } = call
  if (args.some((field) => /^--(?:version|help)$/.test(literalText(field) ?? ''))) return []
  let at = 0
  let takesText = false
  let takesInput = false
  while (at < args.length) {
    const text = literalText(args[at])
    if (text === undefined || !/^[-+]./.test(text) || text === '--') break
    if (/^-[a-zA-Z]*c/.test(text) || text === '--command') takesText = true
    if (/^-[a-zA-Z]*s[a-zA-Z]*$/.test(text)) takesInput = true
    at += /^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(text) ? 2 : 1
  }
  if (literalText(args[at]) === '--') at += 1
  const operand = args[at]
  if (takesText) {
    if (operand === undefined) return []
    const shell = literalText(operand)
    return [{ shell, match: shell === undefined ? unknownScript : shellText }]
  }
  if (takesInput || readsStdin(operand)) return scriptsFromInput(call, pipedShell)
  return operand !== undefined && hasUnknown(operand) ? [{ match: unknownScript }] : []
}

function sourcedScripts(call: SimpleCommand): EmbeddedScript[] {
  const [file] = operands(call.args)
  if (file === undefined) return []
  if (readsStdin(file)) return scriptsFromInput(call, pipedShell)
  return hasUnknown(file) ? [{ match: unknownScript }] : []
}
