/**
 * Adds a person who was approved to an allow list that exists, and removes one whose access was revoked (contract §3.10): the
 * variable `<PLATFORM>_ALLOWED_USERS` in `.env`, or `allow_from` in config.yaml. A list is never created. A person is removed
 * from the lists for groups and those of all accounts, too.
 */
import { editConfigLists } from '../../config/edit-config.ts'
import { replaceDotenvList } from '../../config/edit-dotenv.ts'
import type { Environment } from '../../config/environment.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { isRecord } from '../../lib/json.ts'
import { parseYaml } from '../../lib/yaml.ts'

export interface AllowListFiles {
  readonly home: Pick<HomeLayout, 'root' | 'configFile' | 'envFile'>
  environment(): Environment
}

type Path = readonly [string, ...string[]]

/** A list that lets a person in. */
type AllowList = {
  readonly ids: readonly string[]
  /** `direct`: the list to which approvals are added. `gateway`: it counts on every platform. */
  readonly scope: 'direct' | 'other' | 'gateway'
} & (
  | { readonly kind: 'variable'; readonly name: string; readonly isEditable: boolean }
  | {
      readonly kind: 'setting'
      readonly path: Path
      /** The whole list as one text with commas. */
      readonly joined?: string
    }
)

/** Throws `config/unreadable`, and an error for an id that a list cannot name. */
export function addToAllowList(files: AllowListFiles, platform: string, userId: string): void {
  const list = allowListsOf(files, platform).find(({ scope }) => scope === 'direct')
  if (list === undefined || list.ids.includes('*') || list.ids.includes(userId)) return
  if (!canBeListed(userId))
    throw new Error('a list would read this id as other people. The person has access without being listed.')
  replaceList(files, list, [...list.ids, userId])
}

/**
 * Throws `config/unreadable`, and `pairing/listed` for lists that cannot be edited; nothing has changed then. A list of all
 * platforms is edited only with `fromEveryPlatform`, because it may mean another person there.
 */
export function removeFromAllowLists(
  files: AllowListFiles,
  platform: string,
  userId: string,
  fromEveryPlatform = false,
): void {
  // No list names the person.
  if (!canBeListed(userId)) return
  const lists = allowListsOf(files, platform).filter(({ ids }) => ids.includes(userId))
  const others = lists.filter(
    (list) => (list.scope === 'gateway' && !fromEveryPlatform) || (list.kind === 'variable' && !list.isEditable),
  )
  if (others.length > 0) {
    const places = others.map((list) =>
      list.kind === 'variable' ? `the variable ${list.name}` : `${list.path.join('.')} in config.yaml`,
    )
    throw new HermesError('pairing/listed', `${userId} is named by ${places.join(' and ')}.`)
  }
  for (const list of lists) {
    const remaining = list.ids.filter((id) => id !== userId)
    replaceList(files, list, remaining)
  }
}

/** Lists give `*`, commas, references to variables and white space at the ends a meaning. People may choose their ids. */
export function canBeListed(userId: string): boolean {
  return userId === userId.trim() && !/^\*$|,|\$\{|\p{Cc}/u.test(userId)
}

function replaceList(files: AllowListFiles, list: AllowList, ids: readonly string[]): void {
  if (list.kind === 'setting') editSetting(files, list, ids)
  else if (list.isEditable) replaceDotenvList(files.home.envFile, list.name, ids)
}

/** The list in effect first. Empty lists are left out. */
function allowListsOf({ home, environment }: AllowListFiles, platform: string): AllowList[] {
  const { values, originOf } = environment()
  const prefix = platform.toUpperCase().replaceAll('-', '_')
  const variable = (name: string, scope: AllowList['scope']): AllowList[] => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    const isEditable = originOf(name)?.file !== 'environment'
    return value === undefined ? [] : [{ kind: 'variable', name, scope, isEditable, ids: splitIds(value) }]
  }
  const config = readConfig(home.configFile)
  const setting = (path: Path, scope: AllowList['scope']): AllowList[] => {
    const value = valueAt(config, path)
    if (Array.isArray(value)) return [{ kind: 'setting', path, scope, ids: value.map(String) }]
    if (typeof value !== 'string' && typeof value !== 'number') return []
    return [{ kind: 'setting', path, scope, ids: splitIds(String(value)), joined: String(value) }]
  }
  const sections: readonly Path[] = [['platforms', platform], ['gateway', 'platforms', platform], [platform]]
  const accounts = sections.flatMap((section): Path[] => {
    const value = valueAt(config, [...section, 'accounts'])
    return isRecord(value) ? Object.keys(value).map((name): Path => [...section, 'accounts', name]) : []
  })
  return [
    ...variable(`${prefix}_ALLOWED_USERS`, 'direct'),
    ...sections.flatMap((section) => setting([...section, 'allow_from'], 'direct')),
    ...accounts.flatMap((section) => setting([...section, 'allow_from'], 'other')),
    ...variable(`${prefix}_GROUP_ALLOWED_USERS`, 'other'),
    ...[...sections, ...accounts].flatMap((section) => setting([...section, 'group_allow_from'], 'other')),
    ...variable('GATEWAY_ALLOWED_USERS', 'gateway'),
    ...setting(['gateway', 'allowed_users'], 'gateway'),
  ].filter(({ ids }) => ids.length > 0)
}

function valueAt(config: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), config)
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
    const { value, issues } = parseYaml(readTextIfExists(path) ?? '', 'config.yaml')
    const [issue] = issues
    // Whom a list names is unknown then.
    if (issue !== undefined) throw new Error(`line ${issue.line}, column ${issue.column}: ${issue.message}`)
    return value
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
