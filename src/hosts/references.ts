/**
 * Which objects of the gateway the copies in a host stand for, while one call is in flight.
 */

export interface ObjectReferences {
  /** The number of an object; undefined for what has no identity: text, numbers, null … */
  referenceOf(value: unknown): number | undefined
  /** What a number stands for. A number nobody gave out stands for nothing: `known` is false. */
  resolve(reference: number): { readonly known: boolean; readonly value: unknown }
}

export function createObjectReferences(): ObjectReferences {
  const values: unknown[] = []
  return {
    referenceOf(value) {
      if (typeof value !== 'object' || value === null) return undefined
      const found = values.indexOf(value)
      return found === -1 ? values.push(value) - 1 : found
    },
    resolve: (reference) => ({ known: reference < values.length, value: values[reference] }),
  }
}
