/**
 * Inspects zod types: their keys, a description of the expected value, and how a text is converted to it.
 */
import { z } from 'zod'

/** The type without wrappers such as optional, default and nullable. */
function unwrapType(type: z.ZodType): z.ZodType {
  const inner = innerType(type)
  return inner instanceof z.ZodType ? unwrapType(inner) : type
}

function innerType(type: z.ZodType): unknown {
  if (type instanceof z.ZodPipe) return type.in instanceof z.ZodTransform ? type.out : type.in
  if (
    type instanceof z.ZodOptional ||
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault ||
    type instanceof z.ZodNullable ||
    type instanceof z.ZodCatch ||
    type instanceof z.ZodReadonly ||
    type instanceof z.ZodNonOptional ||
    type instanceof z.ZodLazy
  ) {
    return type.unwrap()
  }
  return undefined
}

/** The members of a union, otherwise the type itself. */
function unionMembers(type: z.ZodType): z.ZodType[] {
  const plain = unwrapType(type)
  if (!(plain instanceof z.ZodUnion)) return [plain]
  return plain.options.filter((option) => option instanceof z.ZodType).flatMap(unionMembers)
}

/** The type of a key or an index, or `undefined`. */
export function childType(type: z.ZodType, key: string | number): z.ZodType | undefined {
  for (const option of unionMembers(type)) {
    const child = childOf(option, key)
    if (child instanceof z.ZodType) return child
  }
  return undefined
}

function childOf(type: z.ZodType, key: string | number): unknown {
  if (type instanceof z.ZodObject) return Object.hasOwn(type.shape, key) ? type.shape[key] : undefined
  if (type instanceof z.ZodRecord) return type.valueType
  // A mapping may stand where a list may stand, too.
  return type instanceof z.ZodArray && /^\d+$/.test(String(key)) ? type.element : undefined
}

/** The keys of an object type. `undefined` if every key is allowed, or if the type is not an object. */
export function knownKeys(type: z.ZodType): readonly string[] | undefined {
  let keys: string[] | undefined
  for (const option of unionMembers(type)) {
    if (option instanceof z.ZodRecord || option instanceof z.ZodUnknown || option instanceof z.ZodAny) return undefined
    if (!(option instanceof z.ZodObject)) continue
    const rest = option.def.catchall
    if (rest !== undefined && !(rest instanceof z.ZodNever)) return undefined
    keys = [...(keys ?? []), ...Object.keys(option.shape)]
  }
  return keys
}

/** Whether `null` is a value of this type. Types with custom code decide themselves, so they count as accepting it. */
export function acceptsNull(type: z.ZodType): boolean {
  if (type instanceof z.ZodNullable || type instanceof z.ZodPreprocess) return true
  const inner = innerType(type)
  if (inner instanceof z.ZodType) return acceptsNull(inner)
  if (type instanceof z.ZodUnion)
    return type.options.some((option) => option instanceof z.ZodType && acceptsNull(option))
  if (type instanceof z.ZodLiteral) return type.values.has(null)
  return [z.ZodNull, z.ZodUnknown, z.ZodAny, z.ZodCustom].some((kind) => type instanceof kind)
}

/** Whether the type has the JSON Schema annotation for values that are never shown. */
export function isWriteOnly(type: z.ZodType): boolean {
  if (type.meta()?.['writeOnly'] === true) return true
  const inner = innerType(type)
  return inner instanceof z.ZodType && isWriteOnly(inner)
}

export type TextKind = 'string' | 'number' | 'boolean' | 'list'

/** How a text of the environment is parsed for this type. `undefined` if it stays a text. */
export function textKindOf(type: z.ZodType): TextKind | undefined {
  const plain = unwrapType(type)
  if (plain instanceof z.ZodNumber) return 'number'
  if (plain instanceof z.ZodBoolean) return 'boolean'
  return plain instanceof z.ZodArray ? 'list' : undefined
}

/** A description of the expected value: `a number from 1 to 65535`, `local or docker`, `a list of texts`. */
export function describeType(type: z.ZodType): string {
  return [...new Set(unionMembers(type).map(describeMember))].join(' or ')
}

function describeMember(type: z.ZodType): string {
  if (type instanceof z.ZodEnum) return formatChoices(type.options)
  if (type instanceof z.ZodLiteral) return formatChoices([...type.values])
  if (type instanceof z.ZodNumber) return describeNumber(type)
  if (type instanceof z.ZodString) return describeString(type)
  if (type instanceof z.ZodBoolean) return 'true or false'
  if (type instanceof z.ZodArray) return 'a list'
  if (type instanceof z.ZodObject) return 'keys with values'
  if (type instanceof z.ZodRecord) return 'names with values'
  if (type instanceof z.ZodStringFormat) return `a text of the form ${type.format ?? 'asked for'}`
  return type instanceof z.ZodNull ? 'nothing' : 'another value'
}

function formatChoices(values: readonly unknown[]): string {
  const words = values.map(String)
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function describeNumber(type: z.ZodNumber): string {
  const noun = type.format === 'safeint' ? 'a whole number' : 'a number'
  const min = finiteBound(type.minValue)
  const max = finiteBound(type.maxValue)
  if (min === undefined) return max === undefined ? noun : `${noun} up to ${max}`
  // An exclusive bound, for example of `positive()`.
  if (!type.safeParse(min).success) return `${noun} above ${min}${max === undefined ? '' : `, at most ${max}`}`
  return max === undefined ? `${noun} of at least ${min}` : `${noun} from ${min} to ${max}`
}

/** zod gives integers the bounds of safe integers. */
function finiteBound(value: number | null): number | undefined {
  return value === null || !Number.isFinite(value) || Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value
}

function describeString(type: z.ZodString): string {
  const min = type.minLength ?? 0
  const max = type.maxLength
  if (max !== null) return min > 0 ? `a text of ${min} to ${max} characters` : `a text of at most ${max} characters`
  return min > 1 ? `a text of at least ${min} characters` : min === 1 ? 'a text that is not empty' : 'a text'
}
