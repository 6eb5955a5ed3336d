/**
 * Lists the configuration values in effect and their origin, without secrets.
 */
import { readTextIfExists } from '../lib/files.ts'
import type { Redactor } from '../lib/redact.ts'
import { type ParsedYaml, parseYaml } from '../lib/yaml.ts'
import { applyKeyAliases } from './key-aliases.ts'
import type { Config } from './load.ts'
import { isSecretPath, pathOf } from './overrides.ts'
import type { ConfigShape } from './section.ts'
import { isTree, valueAt } from './tree.ts'

/** What is read of the configuration, whatever its modules are. */
export type AnyConfig = Pick<Config<ConfigShape>, 'current' | 'environment' | 'state' | 'rules'>

export interface EffectiveValue {
  readonly path: readonly string[]
  /** JSON, which is also YAML, without secrets; `(set, not shown)` for a secret. */
  readonly shown: string
  /** Undefined for a secret, and for a value that contains one. */
  readonly value: unknown
  /** What the file says, which may refer to variables. */
  readonly written: unknown
  readonly source: 'default' | 'file' | 'variable'
  /** `default`, `config.yaml:3`, `OPENAI_API_KEY in .env:2`. */
  readonly origin: string
}

export const secretPlaceholder = '(set, not shown)'

export function listEffectiveValues(config: AnyConfig, redact: Redactor): EffectiveValue[] {
  const { home, shapes, environmentBindings, keyAliases } = config.rules()
  const file = readEffectiveFile(config.state().source, home)
  const aliased = file && applyKeyAliases(file.value, keyAliases)
  const variables = environmentBindings.flatMap((name) => {
    const origin = config.environment().originOf(name.variable)
    return origin === undefined ? [] : [{ ...name, path: pathOf(name), origin }]
  })
  const originOf = (path: readonly string[], isWritten: boolean): Pick<EffectiveValue, 'source' | 'origin'> => {
    const variable = variables.find((set) => set.path.every((part, index) => part === path[index]))
    if (variable !== undefined) {
      const { file: name, line } = variable.origin
      const where = line === undefined ? name : `${name}:${line}`
      return { source: 'variable', origin: `${variable.variable} in ${where}` }
    }
    if (file === undefined || aliased === undefined || !isWritten) return { source: 'default', origin: 'default' }
    const source = aliased.sourceOf(path).map(String)
    return { source: 'file', origin: `${file.file}:${file.positionOf(source, 'key').line}` }
  }
  return flattenValues(config.current(), []).map(([path, value]) => {
    const written = aliased && valueAt(aliased.tree, path)
    const isSecret = isSecretPath(shapes, path) && value !== '' && value !== null
    const shown = isSecret ? secretPlaceholder : redact(JSON.stringify(value))
    const hasSecret = shown !== JSON.stringify(value) || hides(written, redact)
    return {
      path,
      shown,
      value: hasSecret ? undefined : value,
      written: hasSecret ? undefined : written,
      ...originOf(path, written !== undefined),
    }
  })
}

function hides(value: unknown, redact: Redactor): boolean {
  return value !== undefined && redact(JSON.stringify(value)) !== JSON.stringify(value)
}

/** All leaf values in the order of the sections, without undefined ones. */
function flattenValues(value: unknown, path: readonly string[]): [readonly string[], unknown][] {
  if (value === undefined) return []
  if (!isTree(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) => flattenValues(inner, [...path, key]))
}

interface ConfigFiles {
  readonly configFile: string
  readonly lastGoodConfigFile: string
}

function readEffectiveFile(
  source: 'file' | 'last-good' | 'defaults',
  { configFile, lastGoodConfigFile }: ConfigFiles,
): ParsedYaml | undefined {
  if (source === 'defaults') return undefined
  const [path, name] = source === 'file' ? [configFile, 'config.yaml'] : [lastGoodConfigFile, 'config.last-good.yaml']
  const text = readTextIfExists(path)
  return text === undefined ? undefined : parseYaml(text, name)
}
