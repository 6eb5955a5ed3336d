/**
 * The objects of the gateway that the copies in a host refer to, during one call.
 */

export interface ObjectReferences {
  /** The number of an object; `undefined` for values without identity, such as strings and numbers. */
  referenceOf(value: unknown): number | undefined
  /** The object of a number. `known` is false for a number that was never assigned. */
  resolve(reference: number): { readonly known: boolean; readonly value: unknown }
}

export function createObjectReferences(): ObjectReferences {
  const values: unknown[] = []
  return {
    referenceOf(value) {
      if (typeof value !== 'object' || value === null) return undefined
      const index = values.indexOf(value)
      return index === -1 ? values.push(value) - 1 : index
    },
    resolve: (reference) => ({ known: reference < values.length, value: values[reference] }),
  }
}
