/**
 * What a plugin is told: `plugins.entries.<id>.settings`, completed with the defaults of its manifest.
 */
import type { Fields } from '../middleware/contract.ts'
import type { PluginConfig } from './contract.ts'
import type { PluginOption } from './manifest.ts'

type PluginOptions = Readonly<Record<string, PluginOption>>

/** Reads the settings anew whenever they have changed. What a plugin does to its values changes nothing elsewhere. */
export function createPluginConfig(options: PluginOptions, settings: () => Fields): PluginConfig {
  let lastSettings: Fields | undefined
  let merged: Fields = {}
  const all = () => {
    const given = settings()
    if (given !== lastSettings) {
      lastSettings = given
      merged = structuredClone({ ...defaultsOf(options), ...given })
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
  const given = Object.entries(options).filter(([, option]) => option.default !== undefined)
  return Object.fromEntries(given.map(([key, option]) => [key, option.default]))
}

/** What does not fit the manifest, a sentence each. None of it keeps a plugin from being loaded. */
export function settingIssues(options: PluginOptions, settings: Fields): string[] {
  return Object.entries(options).flatMap(([key, { type, required, default: fallback }]) => {
    const value = Object.hasOwn(settings, key) ? settings[key] : undefined
    if (value === undefined || value === null) {
      return required && fallback === undefined ? [`settings.${key} is required and not set`] : []
    }
    const fits = type === undefined ? undefined : typeChecks.get(type.toLowerCase())
    return fits === undefined || fits(value) ? [] : [`settings.${key}: expected a value of type ${type}`]
  })
}

const isMap = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The words that manifests use. */
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
    map: isMap,
    object: isMap,
    dict: isMap,
  }),
)
