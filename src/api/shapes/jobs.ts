/**
 * The shapes of `/api/jobs`.
 */
import { z } from 'zod'

export const jobsQuery = z.strictObject({
  limit: z.coerce.number().pipe(z.int().min(1).max(200)).optional().meta({
    type: 'integer',
    minimum: 1,
    maximum: 200,
    description: 'How many jobs a page has at most; default: all.',
  }),
  cursor: z.string().min(1).max(1_000).optional(),
})

export const jobsResponse = z.object({
  next_cursor: z.string().nullable().optional().describe('The cursor for the next page of a list. Null at the end.'),
  ok: z.literal(true),
  action: z.string(),
  jobs: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      prompt: z.string(),
      schedule_display: z.string(),
      state: z.string(),
      deliver: z.string(),
      next_run_at: z.string().nullable(),
    }),
  ),
})

export const jobResultResponse = z.object({ text: z.string().describe('Empty when the job has not run.') })
