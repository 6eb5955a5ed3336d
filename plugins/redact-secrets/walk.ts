/**
 * Goes through plain data and changes its texts. What did not change is the very same object.
 */
import { type Fields, isRecord } from '#sdk'

/** @param key the name of the field that the text stands in; '' for none */
export type Change = (text: string, key: string) => string

/** Whether this field of an object is to be left as it is. */
export type Spare = (within: Fields, name: string) => boolean

/** Deeper than requests are. */
const deepest = 60
/** Signatures and names: none of it is text of people. */
const sealedNames = new Set([
  ...['signature', 'encrypted_content', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'type', 'role', 'model'],
])
/** What the model thought, and files as bytes: vendors want it back as it was. */
const sealedTypes = new Set<unknown>(['thinking', 'redacted_thinking', 'reasoning', 'base64'])

/** What a vendor has signed or sealed, or would not find again. */
export const sealedByVendors: Spare = (within, name) => sealedTypes.has(within['type']) || sealedNames.has(name)

export const nothing: Spare = () => false

/** Throws a `RangeError` for data that is deeper than anything a vendor takes. */
export function changed(value: Fields, change: Change, spare: Spare): Fields
export function changed(value: unknown, change: Change, spare: Spare): unknown
export function changed(value: unknown, change: Change, spare: Spare): unknown {
  const at = (item: unknown, key: string, depth: number): unknown => {
    if (typeof item === 'string') return item.startsWith('data:') ? item : change(item, key)
    if (typeof item !== 'object' || item === null) return item
    if (depth > deepest) throw new RangeError('the data is too deep to be looked through')
    if (Array.isArray(item)) {
      const list = item.map((one: unknown) => at(one, key, depth + 1))
      return list.every((one, index) => one === item[index]) ? item : list
    }
    if (!isRecord(item)) return item
    const entries = Object.entries(item)
    const fields = entries.map(([name, one]): [string, unknown] => [
      name,
      spare(item, name) ? one : at(one, name, depth + 1),
    ])
    return fields.every(([, one], index) => one === entries[index]?.[1]) ? item : Object.fromEntries(fields)
  }
  return at(value, '', 0)
}
