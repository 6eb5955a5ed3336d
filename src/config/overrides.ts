/**
 * Applies environment variables that override values of the configuration file.
 */
import type { z } from 'zod'
import { parseJson } from '../lib/json.ts'
import type { PathPart } from '../lib/yaml.ts'
import type { Environment, EnvironmentOrigin } from './environment.ts'
import { childType, isWriteOnly, type TextKind, textKindOf } from './schema-introspection.ts'
import { isSecretName } from './secrets.ts'
import type { ConfigShape } from './section.ts'
import { withValue } from './tree.ts'

/** One variable and the value it sets. */
export interface EnvironmentBinding {
  readonly variable: string
  /** `http.port` or `['http', 'port']`. */
  readonly path: string | readonly string[]
  /** How the text is parsed. Default: by the type of the value. Items of a list are separated by commas. */
  readonly kind?: TextKind
}

export interface Override {
  readonly variable: string
  readonly path: readonly string[]
  readonly origin: EnvironmentOrigin
}

export function pathOf({ path }: EnvironmentBinding): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** Returns a copy of the tree with all set variables. The first of several variables for one value wins. */
export function applyOverrides(
  tree: unknown,
  names: readonly EnvironmentBinding[],
  environment: Environment,
  shapes: ConfigShape,
) {
  const overridden = new Set<string>()
  const overrides: Override[] = []
  let changed = tree
  for (const name of names) {
    const text = Object.hasOwn(environment.values, name.variable) ? environment.values[name.variable] : undefined
    const origin = environment.originOf(name.variable)
    const path = pathOf(name)
    if (text === undefined || origin === undefined || overridden.has(path.join('.'))) continue
    overridden.add(path.join('.'))
    const kind = name.kind ?? textKindAt(shapes, path)
    changed = withValue(changed, path, kind === undefined ? text : coerceText(text, kind))
    overrides.push({ variable: name.variable, path, origin })
  }
  return { tree: changed, overrides }
}

/** The type at a path, or `undefined`. */
export function typeAt(shapes: ConfigShape, path: readonly PathPart[]): z.ZodType | undefined {
  const [first, ...rest] = path
  let type = first !== undefined && Object.hasOwn(shapes, first) ? shapes[first] : undefined
  for (const part of rest) type = type === undefined ? undefined : childType(type, part)
  return type
}

/** Whether the value at this path, or one above it, is never shown: because of its name, or because its type says so. */
export function isSecretPath(shapes: ConfigShape, path: readonly PathPart[]): boolean {
  return path.some((part, index) => {
    const type = typeAt(shapes, path.slice(0, index + 1))
    return isSecretName(String(part)) || (type !== undefined && isWriteOnly(type))
  })
}

export function textKindAt(shapes: ConfigShape, path: readonly PathPart[]): TextKind | undefined {
  const type = typeAt(shapes, path)
  return type === undefined ? undefined : textKindOf(type)
}

const booleanWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
}

/** Converts a text to the kind. Returns the text itself if this is not possible, so that validation reports it. */
export function coerceText(text: string, kind: TextKind): unknown {
  const trimmed = text.trim()
  switch (kind) {
    case 'string':
      return text
    case 'number':
      return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text
    case 'boolean':
      return booleanWords[trimmed.toLowerCase()] ?? text
    case 'list':
      if (trimmed.startsWith('[')) return parseJson(trimmed) ?? text
      return trimmed
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
  }
}
