/**
 * Lists the configuration values in effect and their origin. Secrets are replaced with a placeholder.
 */
import { gatewayShapes, gatewayVariables } from '../../app/config.ts'
import { keyAliases } from '../../app/config-compatibility.ts'
import { dottedPath } from '../../config/issue.ts'
import { applyKeyAliases } from '../../config/key-aliases.ts'
import { pathOf, typeAt } from '../../config/overrides.ts'
import { isWriteOnly } from '../../config/schema-introspection.ts'
import { isSecretName } from '../../config/secrets.ts'
import { isTree, valueAt } from '../../config/tree.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { createRedactor } from '../../lib/redact.ts'
import { type ParsedYaml, parseYaml } from '../../lib/yaml.ts'
import type { Settings } from '../kit/settings.ts'

export interface EffectiveValue {
  /** `http.port` */
  readonly path: string
  /** JSON, which is also YAML; `(set, not shown)` for a secret. */
  readonly shown: string
  /** `default`, `config.yaml:3`, `OPENAI_API_KEY in .env:2`. */
  readonly origin: string
}

const secretPlaceholder = '(set, not shown)'

export function listEffectiveValues({ config, catalogue, secrets }: Settings, home: HomeLayout): EffectiveValue[] {
  const shapes = gatewayShapes(catalogue.platforms)
  const redact = createRedactor({ secrets: secrets.all })
  const file = readEffectiveFile(config.state().source, home)
  const aliased = file && applyKeyAliases(file.value, keyAliases(catalogue.platforms))
  const variables = gatewayVariables(catalogue.platforms).flatMap((name) => {
    const origin = config.environment().originOf(name.variable)
    return origin === undefined ? [] : [{ ...name, path: pathOf(name), origin }]
  })

  const isSecret = (path: readonly string[]) =>
    path.some((part, index) => {
      const type = typeAt(shapes, path.slice(0, index + 1))
      return isSecretName(part) || (type !== undefined && isWriteOnly(type))
    })
  const shownAs = (value: unknown, path: readonly string[]) => {
    if (isSecret(path) && value !== '' && value !== null) return secretPlaceholder
    return redact(JSON.stringify(value))
  }
  const originOf = (path: readonly string[]) => {
    const variable = variables.find((set) => set.path.every((part, index) => part === path[index]))
    if (variable !== undefined) {
      const { file: name, line } = variable.origin
      return `${variable.variable} in ${line === undefined ? name : `${name}:${line}`}`
    }
    if (file === undefined || aliased === undefined || valueAt(aliased.tree, path) === undefined) return 'default'
    const source = aliased.sourceOf(path).map(String)
    return `${file.file}:${file.positionOf(source, 'key').line}`
  }
  return flattenValues(config.current(), []).map(([path, value]) => ({
    path: dottedPath(path),
    shown: shownAs(value, path),
    origin: originOf(path),
  }))
}

/** All leaf values in the order of the sections, without undefined ones. */
function flattenValues(value: unknown, path: readonly string[]): [readonly string[], unknown][] {
  if (value === undefined) return []
  if (!isTree(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) => flattenValues(inner, [...path, key]))
}

function readEffectiveFile(source: 'file' | 'last-good' | 'defaults', home: HomeLayout): ParsedYaml | undefined {
  if (source === 'defaults') return undefined
  const [path, name] =
    source === 'file' ? [home.configFile, 'config.yaml'] : [home.lastGoodConfigFile, 'config.last-good.yaml']
  const text = readTextIfExists(path)
  return text === undefined ? undefined : parseYaml(text, name)
}
