/**
 * The values in effect, each with where it comes from. What is secret is replaced before anything else sees it.
 */
import { pathOf, typeAt } from '../config/overrides.ts'
import { dotted } from '../config/problem.ts'
import { isWriteOnly } from '../config/schema-view.ts'
import { isSecretName } from '../config/secrets.ts'
import { isTree, valueAt } from '../config/tree.ts'
import { gatewayShapes, gatewayVariables } from '../gateway/config.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { createRedactor } from '../lib/redact.ts'
import { type ParsedYaml, parseYaml } from '../lib/yaml.ts'
import type { Settings } from './settings.ts'

export interface EffectiveValue {
  /** `http.port` */
  readonly path: string
  /** As JSON, which is YAML too; `(set, not shown)` for a secret. */
  readonly shown: string
  /** `default`, `config.yaml:3`, `OPENAI_API_KEY in .env:2`. */
  readonly origin: string
}

const hidden = '(set, not shown)'

export function effectiveValues({ config, catalogue, secrets }: Settings, home: HomeLayout): EffectiveValue[] {
  const shapes = gatewayShapes(catalogue.platforms)
  const redact = createRedactor({ secrets: secrets.all })
  const file = fileInUse(config.state().source, home)
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
    if (isSecret(path) && value !== '' && value !== null) return hidden
    return redact(JSON.stringify(value))
  }
  const originOf = (path: readonly string[]) => {
    const variable = variables.find((set) => set.path.every((part, index) => part === path[index]))
    if (variable !== undefined) {
      const { file: name, line } = variable.origin
      return `${variable.variable} in ${line === undefined ? name : `${name}:${line}`}`
    }
    if (file === undefined || valueAt(file.value, path) === undefined) return 'default'
    return `${file.file}:${file.positionOf(path, 'key').line}`
  }
  return leavesOf(config.current(), []).map(([path, value]) => ({
    path: dotted(path),
    shown: shownAs(value, path),
    origin: originOf(path),
  }))
}

/** Values that are no objects, in the order of the sections; those left out are left out. */
function leavesOf(value: unknown, path: readonly string[]): [readonly string[], unknown][] {
  if (value === undefined) return []
  if (!isTree(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function fileInUse(source: 'file' | 'last-good' | 'defaults', home: HomeLayout): ParsedYaml | undefined {
  if (source === 'defaults') return undefined
  const [path, name] =
    source === 'file' ? [home.configFile, 'config.yaml'] : [home.lastGoodConfigFile, 'config.last-good.yaml']
  const text = readTextIfExists(path)
  return text === undefined ? undefined : parseYaml(text, name)
}
