/**
 * Adds a person who was approved to an allow list that exists, and removes one whose access was revoked (contract §3.10): the
 * variable `<PLATFORM>_ALLOWED_USERS` in `.env`, or `allow_from` in config.yaml. A list is never created.
 */

import { replaceDotenvList } from '../config/dotenv-lists.ts'
import { editConfigLists } from '../config/edit-config.ts'
import type { Environment } from '../config/environment.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { isRecord } from '../lib/json.ts'
import { parseYaml } from '../lib/yaml.ts'

export interface AllowListFiles {
  readonly home: Pick<HomeLayout, 'root' | 'configFile' | 'envFile'>
  environment(): Environment
}

type Path = readonly [string, ...string[]]

/** A list that lets a person in. */
type AllowList =
  | { readonly kind: 'variable'; readonly name: string; readonly isEditable: boolean; readonly ids: readonly string[] }
  | {
      readonly kind: 'setting'
      readonly path: Path
      readonly ids: readonly string[]
      /** The whole list as one text with commas. */
      readonly joined?: string
    }

/** Throws `config/unreadable`. */
export function addToAllowList(files: AllowListFiles, platform: string, userId: string): void {
  const [list] = allowListsOf(files, platform)
  if (list === undefined || list.ids.includes('*') || list.ids.includes(userId)) return
  if (list.kind === 'setting') editSetting(files, list, [...list.ids, userId])
  else if (list.isEditable) replaceDotenvList(files.home.envFile, list.name, [...list.ids, userId])
}

/** Throws `config/unreadable`, and `pairing/listed` for a list that cannot be edited. */
export function removeFromAllowLists(files: AllowListFiles, platform: string, userId: string): void {
  for (const list of allowListsOf(files, platform)) {
    if (!list.ids.includes(userId)) continue
    const remaining = list.ids.filter((id) => id !== userId)
    if (list.kind === 'setting') editSetting(files, list, remaining)
    else if (list.isEditable) replaceDotenvList(files.home.envFile, list.name, remaining)
    else throw new HermesError('pairing/listed', `The environment variable ${list.name} names ${userId}.`)
  }
}

/** The list in effect first. Empty lists are left out. */
function allowListsOf({ home, environment }: AllowListFiles, platform: string): AllowList[] {
  const { values, originOf } = environment()
  const name = `${platform.toUpperCase().replaceAll('-', '_')}_ALLOWED_USERS`
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  const variable: AllowList[] =
    value === undefined
      ? []
      : [{ kind: 'variable', name, isEditable: originOf(name)?.file !== 'environment', ids: splitIds(value) }]
  const paths: readonly Path[] = [
    ['platforms', platform, 'allow_from'],
    ['gateway', 'platforms', platform, 'allow_from'],
    [platform, 'allow_from'],
  ]
  const config = readConfig(home.configFile)
  const settings = paths.flatMap((path): AllowList[] => {
    const found = path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), config)
    if (Array.isArray(found)) return [{ kind: 'setting', path, ids: found.map(String) }]
    if (typeof found !== 'string' && typeof found !== 'number') return []
    return [{ kind: 'setting', path, ids: splitIds(String(found)), joined: String(found) }]
  })
  return [...variable, ...settings].filter(({ ids }) => ids.length > 0)
}

function editSetting(
  { home }: AllowListFiles,
  { path, ids, joined }: Extract<AllowList, { readonly kind: 'setting' }>,
  after: readonly string[],
): void {
  const removed = joined === undefined ? ids.filter((id) => !after.includes(id)) : [joined]
  const added = joined === undefined ? after.filter((id) => !ids.includes(id)) : after
  editConfigLists(home, [{ path, remove: removed }, ...added.map((add) => ({ path, add }))])
}

function readConfig(path: string): unknown {
  try {
    return parseYaml(readTextIfExists(path) ?? '', 'config.yaml').value
  } catch (error) {
    throw new HermesError('config/unreadable', `${path}: ${messageOf(error)}`, { cause: error })
  }
}

function splitIds(text: string): string[] {
  return text
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '')
}
