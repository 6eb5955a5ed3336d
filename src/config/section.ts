/**
 * The part of the configuration that a module defines: zod types, one per top-level key. `config/` imports no module; the
 * composition root collects the shapes.
 */
import type { z } from 'zod'

export type ConfigShape = Readonly<Record<string, z.ZodType>>

/** The typed values of a shape. */
export type ConfigOf<Shape extends ConfigShape> = { readonly [Key in keyof Shape]: z.output<Shape[Key]> }
