/**
 * Writes another model into config.yaml, in the form that the file has: the keys `model` and `provider`, or the mapping `model:` of
 * Hermes. Loaded by `hermes model` and `/model --global`.
 */
import { findProvider } from '../../agent/models/catalogue.ts'
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import { editConfigValues, readConfigTree } from '../../config/edit-config.ts'
import { isTree, valueAt } from '../../config/tree.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { YamlPath } from '../../lib/yaml-edit.ts'

export interface ModelEdit {
  readonly provider: string
  readonly model: string
  /** The window in tokens, if it is known. */
  readonly contextLength?: number | undefined
  /** The address and the key beside the model are those of another server, also if it speaks the same API. */
  readonly leavesServer?: boolean | undefined
}

export interface EditedModel {
  /** Where the address and the key of the former provider are now: `providers.custom`. */
  readonly movedTo?: string | undefined
}

/** A window at least as large needs no key, because longer conversations cost more. */
const defaultWindow = 128_000

/** Throws `config/unreadable` and `config/unwritable`. */
export function editModel(
  home: Pick<HomeLayout, 'root' | 'configFile'>,
  current: ProviderSettings,
  { provider, model, contextLength, leavesServer = false }: ModelEdit,
): EditedModel {
  const tree = readConfigTree(home)
  const places = keyPlaces(tree)
  const former = resolveProvider(current)
  const isOther =
    leavesServer || former?.name !== resolveProvider({ ...current, provider, baseUrl: '', apiKey: '' })?.name
  const set: { path: YamlPath; value: string | number }[] = [
    { path: places.one('model'), value: model },
    { path: places.one('provider'), value: provider },
  ]
  const remove: YamlPath[] = []
  const isNewModel = isOther || current.model !== model
  const hasWindow = places.all('context_length').length > 0
  if (isNewModel && contextLength !== undefined && (hasWindow || contextLength < defaultWindow))
    set.push({ path: places.one('context_length'), value: contextLength })
  else if (isNewModel) remove.push(...places.all('context_length'))
  const serverEntries = isOther ? serverKeys.flatMap((key) => keptValue(tree, places.all(key), key)) : []
  if (isOther) remove.push(...serverKeys.flatMap(places.all))
  const to = serverEntries.length === 0 ? undefined : freeName(tree, formerName(former?.name ?? '', current))
  if (to !== undefined) {
    for (const { key, value } of serverEntries) set.push({ path: ['providers', to, key], value })
    if (current.model !== '') set.push({ path: ['providers', to, 'model'], value: current.model })
  }
  editConfigValues(home, { set, remove })
  return { movedTo: to && `providers.${to}` }
}

/** They belong to the former provider, so that the next one must not get them. */
const serverKeys = ['base_url', 'api_key', 'api_mode'] as const

type ModelKey = 'model' | 'provider' | 'context_length' | (typeof serverKeys)[number]

/** Where a key is in the file, or belongs. */
function keyPlaces(tree: unknown) {
  const mapping = valueAt(tree, ['model'])
  const namesOf = (key: ModelKey) => (key === 'model' ? ['default', 'model'] : [key])
  const flat = (key: ModelKey): YamlPath[] =>
    valueAt(tree, [key]) === undefined || (key === 'model' && isTree(mapping)) ? [] : [[key]]
  const all = (key: ModelKey): YamlPath[] => [
    ...flat(key),
    ...namesOf(key).flatMap((name): YamlPath[] =>
      isTree(mapping) && mapping[name] !== undefined ? [['model', name]] : [],
    ),
  ]
  return {
    all,
    one(key: ModelKey): YamlPath {
      const [name = key] = namesOf(key)
      return all(key)[0] ?? (isTree(mapping) ? ['model', name] : [key])
    },
  }
}

/** Returns the value as it is written in the file: a reference such as `${KEY}` stays one. */
function keptValue(tree: unknown, [first]: readonly YamlPath[], key: string): { key: string; value: string }[] {
  const value = first === undefined ? undefined : valueAt(tree, first)
  return typeof value === 'string' && value !== '' ? [{ key, value }] : []
}

/** A server that only speaks the API of a vendor must not take the place of the vendor. */
function formerName(name: string, { baseUrl }: ProviderSettings): string {
  const vendor = findProvider(name)?.entry
  const isVendor = vendor !== undefined && vendor.isLocal === undefined
  // The configured provider cannot be used as long as a variable of its key is not set.
  return ['', 'none', 'demo'].includes(name) || (isVendor && baseUrl !== '') ? 'custom' : name
}

function freeName(tree: unknown, name: string): string {
  const taken = valueAt(tree, ['providers'])
  if (!isTree(taken)) return name
  const names = [name, ...Array.from({ length: 100 }, (_, index) => `${name}-${index + 2}`)]
  return names.find((name) => taken[name] === undefined) ?? name
}
