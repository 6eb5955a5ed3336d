/**
 * Goes through plain data and changes its texts. What did not change is the very same object.
 */
import { type Fields, isRecord } from '#sdk'

/** @param key the name of the field that the text stands in; '' for none */
export type StringMapper = (text: string, key: string) => string

/** Whether this field of an object is to be left as it is. */
export type SkipField = (within: Fields, name: string) => boolean

/** Deeper than requests are. */
const maxDepth = 60
/** Signatures and names: none of it is text of people. */
const vendorFieldNames = new Set([
  ...['signature', 'encrypted_content', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'type', 'role', 'model'],
])
/** What the model thought, and files as bytes: vendors want it back as it was. By the type of what it stands in. */
const vendorFieldsByType: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['thinking', new Set(['thinking'])],
  ['redacted_thinking', new Set(['data'])],
  ['reasoning', new Set(['summary', 'content'])],
  ['base64', new Set(['data'])],
])

/** What a vendor has signed or sealed, or would not find again. */
export const isVendorField: SkipField = (within, name) =>
  vendorFieldNames.has(name) || (vendorFieldsByType.get(within['type'])?.has(name) ?? false)

/** A file within a text field. Other texts may begin like one. */
const dataUrlPattern = /^data:[\w.+-]+\/[\w.+-]+(?:;[\w.=+-]+)*;base64,[\w+/=-]*$/

/** The arguments of a call have names that the model chose: nothing in there is the vendor's. */
function isArguments(within: Fields, name: string): boolean {
  return name === 'input' && within['type'] === 'tool_use'
}

export const skipNone: SkipField = () => false

/** Throws a `RangeError` for data that is deeper than anything a vendor takes. */
export function mapStrings(value: Fields, mapper: StringMapper, skipField: SkipField): Fields
export function mapStrings(value: unknown, change: StringMapper, spare: SkipField): unknown
export function mapStrings(value: unknown, change: StringMapper, spare: SkipField): unknown {
  const visit = (item: unknown, key: string, depth: number, skip: SkipField): unknown => {
    if (typeof item === 'string')
      return item.startsWith('data:') && dataUrlPattern.test(item) ? item : change(item, key)
    if (typeof item !== 'object' || item === null) return item
    if (depth > maxDepth) throw new RangeError('the data is too deep to be looked through')
    if (Array.isArray(item)) {
      const list = item.map((one: unknown) => visit(one, key, depth + 1, skip))
      return list.every((one, index) => one === item[index]) ? item : list
    }
    if (!isRecord(item)) return item
    const entries = Object.entries(item)
    const fields = entries.map(([name, one]): [string, unknown] => [
      name,
      skip(item, name) ? one : visit(one, name, depth + 1, isArguments(item, name) ? skipNone : skip),
    ])
    return fields.every(([, one], index) => one === entries[index]?.[1]) ? item : Object.fromEntries(fields)
  }
  return visit(value, '', 0, spare)
}
