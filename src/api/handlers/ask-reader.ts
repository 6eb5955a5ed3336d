/**
 * Asks the thread that reads for the JSON API about the operation of the gateway.
 */
import type { z } from 'zod'
import type { ApiServices } from '../services.ts'
import type { OperationRequest } from './read-operation.ts'

/** Rejects `store/…` and the reason of the signal. */
export async function askReader<Answer>(
  { opened, home }: Pick<ApiServices, 'opened' | 'home'>,
  request: OperationRequest,
  shape: z.ZodType<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  return shape.parse(await opened.reader().ask({ database: home.databaseFile, request }, signal))
}
