/**
 * The shapes of `/api/hooks` and `/api/plugins`. They are loose, because a client may be older or newer than the gateway.
 */
import { z } from 'zod'

export const hookShape = z.looseObject({
  name: z.string(),
  kind: z.string(),
  description: z.string(),
  events: z.array(z.string()),
  state: z.string(),
  reason: z.string(),
  problem: z.string(),
  language: z.string(),
  origin: z.string(),
  folder: z.string(),
  priority: z.number(),
  timeoutMs: z.number(),
  waiting: z.number(),
  fired: z.number(),
  failed: z.number(),
  dropped: z.number(),
  kills: z.number(),
  meanMs: z.number().nullable(),
  p99Ms: z.number().nullable(),
  lastError: z.looseObject({ at: z.number(), event: z.string(), text: z.string() }).nullable(),
})

export const hooksResponse = z.object({
  hooks: z.array(hookShape),
  processes: z.array(z.looseObject({ name: z.string(), state: z.string() })).default([]),
})

export const pluginShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  description: z.string(),
  author: z.string(),
  kind: z.string(),
  language: z.string(),
  origin: z.string(),
  folder: z.string(),
  state: z.string(),
  reason: z.string(),
  problem: z.string().default(''),
  warnings: z.array(z.string()),
  requires: z.array(z.string()),
  registered: z.array(z.looseObject({ kind: z.string(), name: z.string() })),
  hooks: z
    .array(
      z.looseObject({
        point: z.string(),
        calls: z.number(),
        failures: z.number(),
        skipped: z.number(),
        dropped: z.number(),
        lastError: z.looseObject({ text: z.string() }).nullable(),
      }),
    )
    .default([]),
  loadMs: z.number().nullable(),
})

export const pluginsResponse = z.object({ plugins: z.array(pluginShape) })
