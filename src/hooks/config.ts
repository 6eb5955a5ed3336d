/**
 * The hooks' part of the configuration: how handlers run, and the hooks that need no folder (contract §2.7).
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { splitShellWords } from './shell-words.ts'

const matcherSchema = z
  .string()
  .refine(isRegExp, { error: 'expected a regular expression' })
  .optional()
  .describe('A regular expression that the command, or else the platform, of an event must fit as a whole.')

/** Keys that are kept for later versions are accepted and do nothing. */
const commandHookSchema = z.looseObject({
  command: z.string().refine((text) => splitShellWords(text) !== undefined, {
    error: 'expected a program and its arguments, quotes closed',
  }),
  matcher: matcherSchema,
  timeout: z.number().positive().max(300).default(60),
  fail_closed: z.boolean().default(false),
})
export type CommandHook = z.output<typeof commandHookSchema>

const webhookSchema = z.object({
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional(),
  url: z.url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' }),
  events: z.union([z.string().transform((event) => [event]), z.array(z.string()).min(1)]),
  matcher: matcherSchema,
  secret: z.string().optional().meta({ description: 'Signs each delivery.', writeOnly: true }),
  secret_env: z.string().optional().describe('The variable that holds the secret instead.'),
  timeout: z.number().min(1).max(60).default(10),
})
export type Webhook = z.output<typeof webhookSchema>

const settings = {
  env: z
    .enum(['all', 'declared'])
    .default('all')
    .describe(
      'What a hook that names no variables (`env` in HOOK.yaml) sees of the environment: all of it with .env, or none.',
    ),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(5)
    .describe('Seconds that a handler may take, unless its HOOK.yaml says otherwise (`timeout_ms`).'),
  command_timeout: z
    .number()
    .positive()
    .max(60)
    .default(5)
    .describe('Seconds that a command waits for the decision of all hooks together; then it is allowed.'),
  python: z.string().min(1).default('python3').describe('The program that runs handlers in Python.'),
  outbound: z.array(webhookSchema).default([]).describe('Addresses that are told of events.'),
}

const commandHooksSchema = z.array(commandHookSchema)

export const hooksConfig = {
  hooks: z
    .looseObject(settings)
    .superRefine((value, context) => {
      for (const [event, hooks] of eventEntries(value)) {
        const parsed = commandHooksSchema.safeParse(hooks)
        for (const { path, message } of parsed.error?.issues ?? []) {
          context.addIssue({ code: 'custom', path: [event, ...path], message })
        }
      }
    })
    .prefault({})
    .describe('Every other key is the name of an event with a list of programs to run.'),
  hooks_auto_accept: z
    .boolean()
    .default(false)
    .describe('Runs the programs of `hooks` although nobody has accepted them (`hermes hooks accept`).'),
} as const

export type HooksConfig = ConfigOf<typeof hooksConfig>['hooks']

/** The programs that events start, in the order of the file. */
export function listCommandHooks(config: HooksConfig): { readonly event: string; readonly hook: CommandHook }[] {
  return eventEntries(config).flatMap(([event, hooks]) =>
    (commandHooksSchema.safeParse(hooks).data ?? []).map((hook) => ({ event, hook })),
  )
}

function eventEntries(value: object): [string, unknown][] {
  return Object.entries(value).filter(([key]) => !Object.hasOwn(settings, key))
}

function isRegExp(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
