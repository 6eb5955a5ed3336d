/**
 * Maps the strings of plain data. A part without a change stays the same object.
 */
import { type Fields, isRecord } from '#sdk'

/** @param key the name of the field that contains the string, or '' */
export type StringMapper = (text: string, key: string) => string

/** Whether a field of an object is not visited. */
export type SkipField = (parent: Fields, name: string) => boolean

/** Requests are not nested this deep. */
const maxDepth = 60
/** Ids, names and signatures, which contain no text of users. */
const vendorFieldNames = new Set([
  ...['signature', 'encrypted_content', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'type', 'role', 'model'],
])
/** Reasoning and files, which the provider expects unchanged, by the `type` of the object that contains them. */
const vendorFieldsByType: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['thinking', new Set(['thinking'])],
  ['redacted_thinking', new Set(['data'])],
  ['reasoning', new Set(['summary', 'content'])],
  ['base64', new Set(['data'])],
])

/** Fields that the provider has signed or encrypted, or uses as a key. */
export const isVendorField: SkipField = (parent, name) =>
  vendorFieldNames.has(name) || (vendorFieldsByType.get(parent['type'])?.has(name) ?? false)

/** A file in a string field. The whole string must match, because other text can begin like a data URL. */
const dataUrlPattern = /^data:[\w.+-]+\/[\w.+-]+(?:;[\w.=+-]+)*;base64,[\w+/=-]*$/

/** The model chooses the names inside the arguments of a tool call, so none of them is a field of the provider. */
function isToolArguments(parent: Fields, name: string): boolean {
  return name === 'input' && parent['type'] === 'tool_use'
}

export const skipNone: SkipField = () => false

/** Throws a `RangeError` for data that is nested too deep. */
export function mapStrings(value: Fields, mapper: StringMapper, skipField: SkipField): Fields
export function mapStrings(value: unknown, mapper: StringMapper, skipField: SkipField): unknown
export function mapStrings(value: unknown, mapper: StringMapper, skipField: SkipField): unknown {
  const visit = (item: unknown, key: string, depth: number, skip: SkipField): unknown => {
    if (typeof item === 'string')
      return item.startsWith('data:') && dataUrlPattern.test(item) ? item : mapper(item, key)
    if (typeof item !== 'object' || item === null) return item
    if (depth > maxDepth) throw new RangeError('the data is nested too deep')
    if (Array.isArray(item)) {
      const list = item.map((element: unknown) => visit(element, key, depth + 1, skip))
      return list.every((element, index) => element === item[index]) ? item : list
    }
    if (!isRecord(item)) return item
    const entries = Object.entries(item)
    const fields = entries.map(([name, field]): [string, unknown] => [
      name,
      skip(item, name) ? field : visit(field, name, depth + 1, isToolArguments(item, name) ? skipNone : skip),
    ])
    return fields.every(([, field], index) => field === entries[index]?.[1]) ? item : Object.fromEntries(fields)
  }
  return visit(value, '', 0, skipField)
}
