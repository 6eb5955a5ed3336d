/**
 * The configuration of hooks: how handlers run, and hooks without a directory of their own (contract §2.7).
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { splitShellWords } from './shell-words.ts'

const matcherSchema = z
  .string()
  .refine(isRegExp, { error: 'expected a regular expression' })
  .optional()
  .describe('A regular expression that must match the whole tool name, command or platform of an event.')

const commandError = 'expected a program and its arguments, with balanced quotes'

/** Unknown keys are accepted and ignored, because later versions may define them. */
const commandHookSchema = z.looseObject({
  command: z.string({ error: commandError }).refine((text) => splitShellWords(text) !== undefined, {
    error: commandError,
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
  url: z.url({ protocol: /^https?$/, error: 'expected a URL that begins with https:// or http://' }),
  events: z.union([z.string().transform((event) => [event]), z.array(z.string()).min(1)]),
  matcher: matcherSchema,
  secret: z.string().optional().meta({ description: 'Signs each delivery.', writeOnly: true }),
  secret_env: z.string().optional().describe('The environment variable that contains the secret.'),
  timeout: z.number().min(1).max(60).default(10),
})
export type Webhook = z.output<typeof webhookSchema>

const settings = {
  env: z
    .enum(['all', 'declared'])
    .default('all')
    .describe(
      'Environment of hooks without `env` in HOOK.yaml: all variables including .env, or only basic ones such as PATH.',
    ),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(60)
    .describe('Time limit of a handler in seconds, unless its HOOK.yaml sets `timeout_ms`.'),
  command_timeout: z
    .number()
    .positive()
    .max(60)
    .default(5)
    .describe('Seconds that a command waits for the decisions of all hooks. After that it is allowed.'),
  python: z.string().min(1).default('python3').describe('The interpreter for handlers in Python.'),
  outbound: z.array(webhookSchema.optional()).default([]).describe('Webhooks that receive events.'),
}

/** Takes the place of an invalid program or webhook. A file cannot contain it. */
export const invalidProgram = undefined

const commandHooksSchema = z.array(commandHookSchema.optional())

export const hooksConfig = {
  hooks: z
    .looseObject(settings)
    .superRefine((value, context) => {
      for (const [event, hooks] of eventEntries(value)) {
        const parsed = commandHooksSchema.safeParse(hooks)
        for (const { path, message } of parsed.error?.issues ?? []) {
          context.addIssue({ code: 'custom', path: [event, ...path], message: withoutPrefix(message) })
        }
      }
    })
    .prefault({})
    .describe('Every other key is the name of an event of the gateway or of plugins, with a list of programs to run.'),
  hooks_auto_accept: z
    .boolean()
    .default(false)
    .describe('Runs the programs of `hooks` without prior acceptance (`hermes hooks accept`).'),
} as const

export type HooksConfig = ConfigOf<typeof hooksConfig>['hooks']

/** The programs that events run, in the order of the file. */
export function listCommandHooks(config: HooksConfig): { readonly event: string; readonly hook: CommandHook }[] {
  return eventEntries(config).flatMap(([event, hooks]) =>
    (commandHooksSchema.safeParse(hooks).data ?? []).flatMap((hook) =>
      hook === invalidProgram ? [] : [{ event, hook }],
    ),
  )
}

/** Whether a program of the event was left out because its entry is invalid. */
export function hasInvalidProgram(config: HooksConfig, event: string): boolean {
  const programs: unknown = config[event]
  return Array.isArray(programs) && programs.includes(invalidProgram)
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

/** `Invalid input: expected boolean, received string` without what surrounds the expected value. */
function withoutPrefix(message: string): string {
  return message.replace(/^[^:]+: (?=expected )/, '').replace(/, received \w+$/, '')
}
