/**
 * Buttons as their row of the outbox keeps them.
 */
import { z } from 'zod'
import type { Button } from '../message/outbound.ts'

const buttonsSchema = z.array(
  z.object({ id: z.string(), label: z.string(), style: z.enum(['primary', 'danger']).exactOptional() }),
)

/** The row's `buttons`; null when there are none. */
export function serializeButtons(buttons: readonly Button[] | undefined): string | null {
  return buttons === undefined || buttons.length === 0 ? null : JSON.stringify(buttons)
}

/** Throws for what `storeButtons` did not write. */
export function parseButtons(json: string): readonly Button[] {
  return buttonsSchema.parse(JSON.parse(json))
}
