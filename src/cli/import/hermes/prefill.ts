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
  settings: readonly Found[],
  entries: ImportEntry[],
): Pick<Findings, 'settings' | 'files'> {
  const prefills = settings.filter(isPrefill)
  // The environment takes precedence, and there is one copy.
  const used = prefills.find(({ kind }) => kind === 'variable') ?? prefills[0]
  if (used === undefined) return { settings: settings, files: [] }
  const others = settings.filter((setting) => !isPrefill(setting))
  if (prefills.length > 1) entries.push(left('settings', key, `${variable} takes precedence`))
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

function isPrefill(setting: Found): boolean {
  return setting.kind === 'variable' ? setting.name === variable : setting.path.join('.') === key
}

function nameOf(setting: Found): string {
  return setting.kind === 'variable' ? setting.name : setting.path.join('.')
}

function readMessages(source: SourceHome, path: string): { readonly text: string } | { readonly problem: string } {
  if (path.split('/').includes('..')) return { problem: 'the file is outside of the home; copy it' }
  const file = source.text(path)
  if (file === undefined) return { problem: 'there is no such file' }
  if ('problem' in file) return file
  const parsed = parsePrefill(file.text)
  return parsed.problem === '' ? file : { problem: parsed.problem }
}
