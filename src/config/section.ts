/**
 * How a room hands its part of the configuration in: an object of zod types, one per top-level key.
 * `config/` imports no room; `gateway.ts` collects the shapes.
 */
import type { z } from 'zod'

export type ConfigShape = Readonly<Record<string, z.ZodType>>

/** The typed values of a shape. */
export type ConfigOf<Shape extends ConfigShape> = { readonly [Key in keyof Shape]: z.output<Shape[Key]> }
