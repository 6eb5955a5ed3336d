/**
 * The settings of a plugin: `plugins.entries.<id>.settings` with the defaults of its manifest.
 */
import { isRecord } from '../lib/json.ts'
import type { Fields } from '../middleware/contract.ts'
import type { PluginConfig } from './contract.ts'
import type { PluginOption } from './manifest.ts'

type PluginOptions = Readonly<Record<string, PluginOption>>

/** Follows changes of the configuration. Returns copies, so that a plugin cannot change the configuration. */
export function createPluginConfig(options: PluginOptions, settings: () => Fields): PluginConfig {
  let lastSettings: Fields | undefined
  let merged: Fields = {}
  const all = () => {
    const current = settings()
    if (current !== lastSettings) {
      lastSettings = current
      merged = structuredClone({ ...defaultsOf(options), ...current })
    }
    return merged
  }
  return {
    get: (key) => (Object.hasOwn(all(), key) ? all()[key] : undefined),
    get all() {
      return all()
    },
  }
}

function defaultsOf(options: PluginOptions): Record<string, unknown> {
  const withDefault = Object.entries(options).filter(([, option]) => option.default !== undefined)
  return Object.fromEntries(withDefault.map(([key, option]) => [key, option.default]))
}

/** Settings that do not match the manifest, one sentence each. They do not prevent loading. */
export function settingIssues(options: PluginOptions, settings: Fields): string[] {
  return Object.entries(options).flatMap(([key, { type, required, default: fallback }]) => {
    const value = Object.hasOwn(settings, key) ? settings[key] : undefined
    if (value === undefined || value === null) {
      return required && fallback === undefined ? [`settings.${key} is required but not set`] : []
    }
    const fits = type === undefined ? undefined : typeChecks.get(type.toLowerCase())
    return fits === undefined || fits(value) ? [] : [`settings.${key}: expected a value of type ${type}`]
  })
}

/** By the type names of manifests. */
const typeChecks: ReadonlyMap<string, (value: unknown) => boolean> = new Map(
  Object.entries<(value: unknown) => boolean>({
    string: (value) => typeof value === 'string',
    str: (value) => typeof value === 'string',
    number: (value) => typeof value === 'number',
    float: (value) => typeof value === 'number',
    integer: (value) => Number.isInteger(value),
    int: (value) => Number.isInteger(value),
    boolean: (value) => typeof value === 'boolean',
    bool: (value) => typeof value === 'boolean',
    list: Array.isArray,
    array: Array.isArray,
    map: isRecord,
    object: isRecord,
    dict: isRecord,
  }),
)
