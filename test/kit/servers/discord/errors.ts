/**
 * Error responses of Discord.
 */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly errors?: unknown
}

export const refusals = {
  unauthorised: { status: 401, code: 0, message: '401: Unauthorized' },
  notFound: { status: 404, code: 0, message: '404: Not Found' },
  unknownChannel: { status: 404, code: 10003, message: 'Unknown Channel' },
  unknownMessage: { status: 404, code: 10008, message: 'Unknown Message' },
  unknownMember: { status: 404, code: 10007, message: 'Unknown Member' },
  unknownInteraction: { status: 404, code: 10062, message: 'Unknown interaction' },
  alreadyAcknowledged: { status: 400, code: 40060, message: 'Interaction has already been acknowledged.' },
  tooLarge: { status: 413, code: 40005, message: 'Request entity too large' },
  missingAccess: { status: 403, code: 50001, message: 'Missing Access' },
  otherAuthor: { status: 403, code: 50005, message: 'Cannot edit a message authored by another user' },
  empty: { status: 400, code: 50006, message: 'Cannot send an empty message' },
  directClosed: { status: 403, code: 50007, message: 'Cannot send messages to this user' },
  missingPermissions: { status: 403, code: 50013, message: 'Missing Permissions' },
  badJson: { status: 400, code: 50109, message: 'The request body contains invalid JSON.' },
  threadExists: { status: 400, code: 160004, message: 'A thread has already been created for this message' },
} as const satisfies Record<string, Refusal>

/** `Invalid Form Body`, with the field that is wrong. */
export function invalid(field: string, code: string, message: string): Refusal {
  const errors = field
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), { _errors: [{ code, message }] })
  return { status: 400, code: 50035, message: 'Invalid Form Body', errors }
}
