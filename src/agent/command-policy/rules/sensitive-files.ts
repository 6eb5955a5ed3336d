/**
 * Files that decide who may enter and what the gateway does, and files that hold its secrets.
 */
import type { Call, Redirection, Rule } from '../call.ts'
import { type Field, literal, startsUnknown, withoutPrefix, written } from '../field.ts'
import { ask, type Finding } from '../finding.ts'
import { operands } from '../options.ts'
import type { Places } from '../places.ts'

const writesGuarded = ask('write-guarded', 'changes system settings, SSH access or the settings of the gateway')
const readsSecret = ask('read-secret', 'reads a secret of the gateway')
const writesUnknown = ask('write-unknown', 'writes to a file that is known only when it runs')

export const sensitiveFiles: Rule = (call, places) => {
  if (writtenBy(call).some((field) => isGuarded(field, call, places))) return writesGuarded
  const readsAll =
    takesFolders.test(call.name) || (call.name === 'find' && executes.test(call.args.map(written).join(' ')))
  return call.args.some((field) => isSecret(field, call, places, readsAll)) ? readsSecret : undefined
}

/** Commands that read all files below a folder they are given. */
const takesFolders = /^(?:cp|mv|ln|scp|rsync|tar|bsdtar|zip|7z|cpio|pax|[efr]?grep|rg|ag|ack)$/
const executes = /(?:^| )-(?:exec|execdir|ok|okdir) /

/** What a command writes to, by its name. */
function writtenBy({ name, args }: Call): readonly Field[] {
  switch (name) {
    case 'cp':
    case 'mv':
    case 'install':
    case 'ln':
    case 'rsync':
    case 'scp': {
      const folders = args.flatMap((field, index) => {
        const next = /^(?:-[a-zA-Z]*t|--target-directory)$/.test(literal(field) ?? '')
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
        name.startsWith('e') || args.some((field) => /^(?:-[a-zA-Z]*i|--in-place)/.test(literal(field) ?? ''))
      return inPlace ? operands(args) : []
    }
    case 'curl':
    case 'wget':
      return args.flatMap((field, index) => {
        if (
          /^(?:-[a-zA-Z]*[oOP]|--output|--output-document|--output-dir|--directory-prefix)$/.test(
            literal(args[index - 1]) ?? '',
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

function isGuarded(field: Field, { cwd }: Pick<Call, 'cwd'>, places: Places): boolean {
  const path = places.path(field, cwd)
  return path !== undefined && places.isGuarded(path)
}

function isSecret(field: Field, { cwd }: Pick<Call, 'cwd'>, places: Places, withFolder = false): boolean {
  const path = places.path(field, cwd)
  return path !== undefined && (places.isSecret(path) || (withFolder && places.holdsSecrets(path)))
}

const writes = new Set(['>', '>>', '>|', '&>', '&>>', '<>', '>&'])

/** `> /etc/hosts`, `< ~/.hermes/.env`. */
export function judgeFileRedirection(
  { operator, target }: Redirection,
  cwd: string | undefined,
  places: Places,
): Finding | undefined {
  const at = { cwd }
  if (!writes.has(operator)) return isSecret(target, at, places) ? readsSecret : undefined
  if (operator === '>&' && /^(?:\d+|-)$/.test(literal(target) ?? '')) return undefined
  if (isGuarded(target, at, places)) return writesGuarded
  return startsUnknown(target) ? writesUnknown : undefined
}
