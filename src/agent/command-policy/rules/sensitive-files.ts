/**
 * Files that decide who may enter and what the gateway does, and files that hold its secrets.
 */

import { type Field, literalText, sourceText, startsUnknown, withoutPrefix } from '../field.ts'
import { operands } from '../options.ts'
import type { ProtectedPaths } from '../protected-paths.ts'
import { type RuleMatch, requireApproval } from '../rule-match.ts'
import type { CommandRule, Redirection, SimpleCommand } from '../simple-command.ts'

const writesProtected = requireApproval(
  'write-guarded',
  'changes system settings, SSH access or the settings of the gateway',
)
const readsSecret = requireApproval('read-secret', 'reads a secret of the gateway')
const writesUnknown = requireApproval('write-unknown', 'writes to a file that is known only when it runs')

export const sensitiveFiles: CommandRule = (call, places) => {
  if (writtenFields(call).some((field) => isProtected(field, call, places))) return writesProtected
  const readsAll =
    readsDirectories.test(call.name) ||
    (call.name === 'find' && executesCommand.test(call.args.map(sourceText).join(' ')))
  return call.args.some((field) => isSecret(field, call, places, readsAll)) ? readsSecret : undefined
}

/** Commands that read all files below a folder they are given. */
const readsDirectories = /^(?:cp|mv|ln|scp|rsync|tar|bsdtar|zip|7z|cpio|pax|[efr]?grep|rg|ag|ack)$/
const executesCommand = /(?:^| )-(?:exec|execdir|ok|okdir) /

/** What a command writes to, by its name. */
function writtenFields({ name, args }: SimpleCommand): readonly Field[] {
  switch (name) {
    case 'cp':
    case 'mv':
    case 'install':
    case 'ln':
    case 'rsync':
    case 'scp': {
      const folders = args.flatMap((field, index) => {
        const next = /^(?:-[a-zA-Z]*t|--target-directory)$/.test(literalText(field) ?? '')
          ? args[index + 1]
          : (withoutPrefix(field, '--target-directory=') ?? withoutPrefix(field, '-t'))
        return next === undefined ? [] : [next]
      })
      // What is moved away is gone from its place.
      return [...(name === 'mv' ? operands(args) : operands(args).slice(-1)), ...folders]
    }
    case 'tee':
    case 'truncate':
    case 'touch':
    case 'chmod':
    case 'chown':
    case 'unlink':
    case 'rmdir':
    case 'shred':
    case 'rm':
      return operands(args)
    case 'sed':
    case 'perl':
    case 'ed':
    case 'ex': {
      const inPlace =
        name.startsWith('e') || args.some((field) => /^(?:-[a-zA-Z]*i|--in-place)/.test(literalText(field) ?? ''))
      return inPlace ? operands(args) : []
    }
    case 'curl':
    case 'wget':
      return args.flatMap((field, index) => {
        if (
          /^(?:-[a-zA-Z]*[oOP]|--output|--output-document|--output-dir|--directory-prefix)$/.test(
            literalText(args[index - 1]) ?? '',
          )
        )
          return [field]
        const joint = ['-o', '-O', '-P', '--output=', '--output-document=', '--output-dir=', '--directory-prefix=']
        return joint.map((option) => withoutPrefix(field, option)).filter((target) => target !== undefined)
      })
    default:
      return []
  }
}

function isProtected(field: Field, { cwd }: Pick<SimpleCommand, 'cwd'>, places: ProtectedPaths): boolean {
  const path = places.toPattern(field, cwd)
  return path !== undefined && places.isProtected(path)
}

function isSecret(
  field: Field,
  { cwd }: Pick<SimpleCommand, 'cwd'>,
  places: ProtectedPaths,
  withFolder = false,
): boolean {
  const path = places.toPattern(field, cwd)
  return path !== undefined && (places.isSecret(path) || (withFolder && places.containsSecrets(path)))
}

const writeOperators = new Set(['>', '>>', '>|', '&>', '&>>', '<>', '>&'])

/** `> /etc/hosts`, `< ~/.hermes/.env`. */
export function checkFileRedirection(
  { operator, target }: Redirection,
  cwd: string | undefined,
  places: ProtectedPaths,
): RuleMatch | undefined {
  const at = { cwd }
  if (!writeOperators.has(operator)) return isSecret(target, at, places) ? readsSecret : undefined
  if (operator === '>&' && /^(?:\d+|-)$/.test(literalText(target) ?? '')) return undefined
  if (isProtected(target, at, places)) return writesProtected
  return startsUnknown(target) ? writesUnknown : undefined
}
