/**
 * Takes over the file of `prefill_messages_file`. Its path comes from the other home, so it decides nothing here: the copy has a name
 * of its own, and a file without messages stays there.
 */
import { isAbsolute } from 'node:path'
import { parsePrefill } from '../../../flows/models/ephemeral-prompt.ts'
import type { Findings, FoundFile, FoundSetting, FoundVariable, ImportEntry } from '../contract.ts'
import { left, type SourceHome } from '../source-home.ts'

const key = 'prefill_messages_file'
const variable = 'HERMES_PREFILL_MESSAGES_FILE'
const target = 'prefill.json'

type Found = FoundSetting | FoundVariable

/** The settings, in which this one names the copy. An absolute path stays; a file that cannot be taken leaves the setting out. */
export function takePrefill(
  source: SourceHome,
  found: readonly Found[],
  entries: ImportEntry[],
): Pick<Findings, 'settings' | 'files'> {
  const own = found.filter(isPrefill)
  // The environment takes precedence, and there is one copy.
  const used = own.find(({ kind }) => kind === 'variable') ?? own[0]
  if (used === undefined) return { settings: found, files: [] }
  const others = found.filter((one) => !isPrefill(one))
  if (own.length > 1) entries.push(left('settings', key, `${variable} takes precedence`))
  const path = used.value
  if (typeof path !== 'string' || isAbsolute(path) || path.startsWith('~'))
    return { settings: [...others, used], files: [] }
  const content = readMessages(source, path)
  if ('problem' in content) {
    entries.push(left('settings', nameOf(used), `${path}: ${content.problem}`))
    return { settings: others, files: [] }
  }
  const isRenamed = path !== target
  const change = isRenamed ? `is ${target}` : ''
  const file: FoundFile = { area: 'files', name: path, content: content.text, target, change }
  const setting = isRenamed ? { ...used, value: target, change: `was ${path}` } : used
  return { settings: [...others, setting], files: [file] }
}

function isPrefill(one: Found): boolean {
  return one.kind === 'variable' ? one.name === variable : one.path.join('.') === key
}

function nameOf(one: Found): string {
  return one.kind === 'variable' ? one.name : one.path.join('.')
}

function readMessages(source: SourceHome, path: string): { readonly text: string } | { readonly problem: string } {
  if (path.split('/').includes('..')) return { problem: 'the file is outside of the home; copy it' }
  const found = source.text(path)
  if (found === undefined) return { problem: 'there is no such file' }
  if ('problem' in found) return found
  const parsed = parsePrefill(found.text)
  return parsed.problem === '' ? found : { problem: parsed.problem }
}
