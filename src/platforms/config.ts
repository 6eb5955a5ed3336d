/**
 * The configuration schema of the platforms and the environment variables that set its values, built from the manifests.
 */
import { z } from 'zod'
import type { PlatformManifest, PlatformOption } from './manifest.ts'

/** An environment variable and the configuration value that it sets. */
export interface PlatformVariable {
  readonly variable: string
  readonly path: readonly string[]
  readonly kind: 'string' | 'number' | 'boolean' | 'list'
}

/** Ids as strings: a list, or one string with commas. YAML parses numeric ids as numbers. */
const idListSchema = z.union(
  [
    z.array(z.union([z.string(), z.int()]).transform(String)),
    z.union([z.string(), z.int()]).transform((ids) => splitList(String(ids))),
  ],
  { error: 'expected a list of ids in quotes' },
)

/** Compared as an origin: scheme, host and port. */
const originSchema = z
  .url({ protocol: /^https?$/, error: 'expected an address such as https://files.example.org' })
  .transform((address) => new URL(address).origin)

const unauthorizedDmSchema = z.enum(['pair', 'ignore'])

const channelPromptsSchema = z.record(z.string(), z.string().max(20_000))

/** Names of models are those of their providers. */
const modelName = z.string().min(1).max(200)

const channelOverridesSchema = z.record(
  z.string(),
  z.object({
    model: modelName.optional().describe('The model there.'),
    provider: modelName.optional().describe('The provider of that model, as `provider`.'),
    system_prompt: z
      .string()
      .max(20_000)
      .optional()
      .describe('A text that follows the system prompt in each request there, as `channel_prompts`.'),
  }),
)

/** The settings of every account. None has a default, because an account inherits missing settings from its platform. */
const accountFields = {
  enabled: z.boolean().optional().describe('False disables it, even with credentials.'),
  allow_from: idListSchema
    .optional()
    .describe('User ids that may talk to the agent. `*` allows every user; an empty list allows none.'),
  group_allow_from: idListSchema.optional().describe('User ids that may talk to the agent in groups only.'),
  group_allowed_chats: idListSchema.optional().describe('Group chats in which every member may talk to the agent.'),
  allow_all_users: z.boolean().optional().describe('Allows every user of the platform.'),
  allow_bots: z.enum(['none', 'mentions', 'all']).optional().describe('Which messages of other bots are accepted.'),
  unauthorized_dm_behavior: unauthorizedDmSchema
    .optional()
    .describe('As `gateway.unauthorized_dm_behavior`, for this platform or account.'),
  home_channel: z
    .union(
      [
        z.union([z.string(), z.int()]).transform((id) => ({ chat_id: String(id) })),
        z.object({
          chat_id: z.union([z.string(), z.int()]).transform(String),
          name: z.string().optional(),
          thread_id: z.union([z.string(), z.int()]).transform(String).optional(),
        }),
      ],
      { error: 'expected the id of a chat, or chat_id, name and thread_id' },
    )
    .optional()
    .describe('The chat for messages that belong to no other chat.'),
  home_channel_name: z.string().optional().describe('The name of `home_channel`, where it has none itself.'),
  gateway_restart_notification: z
    .boolean()
    .optional()
    .describe('Whether the home channel is told before and after a restart; default: true.'),
  edits: z
    .enum(['ignore', 'amend', 'rerun'])
    .optional()
    .describe(
      'When a user edits a message: `amend` changes it if it is still queued, `rerun` processes it again, `ignore` does nothing.',
    ),
  reply_to_mode: z
    .enum(['off', 'first', 'all'])
    .optional()
    .describe('Which messages of a reply are sent as a reply to the original message.'),
  file_hosts: z
    .array(originSchema)
    .optional()
    .describe(
      'Addresses of a self-hosted server from which files are downloaded, and to which they are uploaded, even if they are private or not https. A Slack account with `api_url` sends its bot token to those with https and to those on this machine.',
    ),
  typing_indicator: z.boolean().optional().describe('Shows a typing indicator while the agent works.'),
  channel_prompts: channelPromptsSchema
    .optional()
    .describe(
      'Texts by the id of a chat or of a thread. They follow the system prompt in each request there and are stored nowhere.',
    ),
  model: modelName
    .optional()
    .describe('The model on this platform or account. `/model` and `channel_overrides` take precedence.'),
  provider: modelName.optional().describe('The provider of that model, as `provider`.'),
  channel_overrides: channelOverridesSchema
    .optional()
    .describe(
      'Model and text for single chats, by the id of a thread, a chat, or the chat that a thread is in: `{model, provider, system_prompt}`. `/model` takes precedence.',
    ),
  extra: z
    .looseObject({
      channel_prompts: channelPromptsSchema.optional().describe('As `channel_prompts` of the platform.'),
      allow_admin_from: idListSchema
        .optional()
        .describe('User ids that are owners in direct messages. The other users may use `user_allowed_commands` only.'),
      user_allowed_commands: idListSchema
        .optional()
        .describe('Commands for users in direct messages who are no owners, beside /help and /whoami; `*` for all.'),
      group_allow_admin_from: idListSchema
        .optional()
        .describe('User ids that are owners in groups. The other users may use `group_user_allowed_commands` only.'),
      group_user_allowed_commands: idListSchema
        .optional()
        .describe('Commands for users in groups who are no owners, beside /help and /whoami; `*` for all.'),
    })
    .optional()
    .describe('Settings of Hermes for the access to commands. Everything else is passed to the adapter unchanged.'),
}

/** The keys of an account that the gateway reads. All others belong to the adapter. */
const accountSettingsSchema = z.looseObject(accountFields)
export type AccountSettings = z.output<typeof accountSettingsSchema>

export const platformSettingsSchema = z.looseObject({
  ...accountFields,
  accounts: z.record(z.string(), accountSettingsSchema).optional(),
})

export const gatewaySettingsSchema = z.looseObject({
  allowed_users: idListSchema.default([]).describe('User ids that may talk to the agent on every platform.'),
  allow_all_users: z.boolean().default(false).describe('Allows every user on every platform.'),
  unauthorized_dm_behavior: unauthorizedDmSchema
    .default('pair')
    .describe(
      'What a person without access gets in a direct message: `pair` sends a code that an owner can approve (`hermes pairing approve`), `ignore` nothing.',
    ),
})

const peopleSchema = z
  .array(
    z.string().regex(/^[a-z0-9_-]+:.+$/, { error: 'expected <platform>:<user id>, for example "telegram:123456789"' }),
  )
  .default([])

/** Tools by name, toolset or mode; `*` for all, `-name` to take one away. The most specific entry decides. */
const toolListSchema = z.array(z.string().min(1))

/** Nothing of the machine, and nothing that changes something elsewhere. */
const harmlessTools = ['*', '-terminal', '-file', '-effect']

function ceilingOf(inDirectMessages: string[], inGroups: string[]) {
  return z
    .object({
      tools: toolListSchema
        .default(inDirectMessages)
        .describe(
          'Tools that the role may cause in direct messages: names, toolsets, or `effect` for all that change something; `*` for all, `-name` to take one away.',
        ),
      group_tools: toolListSchema.default(inGroups).describe('As `tools`, in groups, channels and threads.'),
    })
    .prefault({})
}

const chatCeilingSchema = z.object({
  owner: toolListSchema.optional(),
  member: toolListSchema.optional(),
  guest: toolListSchema.optional(),
})

export const rolesSchema = z.object({
  owners: peopleSchema.describe(
    'Owners, as `<platform>:<user id>`, or a role of the platform: `discord:role:<role id>`, `slack:admins`, `telegram:administrators:<chat id>`. While no list names an owner, everybody who is allowed by id is one.',
  ),
  members: peopleSchema.describe(
    'Members, as `<platform>:<user id>`. `<platform>:*` makes members of all who have access.',
  ),
  guests: peopleSchema.describe('Guests, as `<platform>:<user id>`, also if an allow list names them.'),
  owner: ceilingOf(['*'], ['*']),
  // A sub-agent has the ceiling of its parent.
  member: ceilingOf(['*'], [...harmlessTools, 'delegation']),
  guest: ceilingOf([...harmlessTools, '-messaging'], [...harmlessTools, '-messaging']),
  chats: z
    .record(z.string().regex(/^[a-z0-9_-]+:.+$/, { error: 'expected <platform>:<chat id>' }), chatCeilingSchema)
    .default({})
    .describe(
      'Tools of the roles in single chats, by `<platform>:<chat id>`, in place of `tools` and `group_tools`. A thread has those of its channel.',
    ),
})

export type RoleSettings = z.output<typeof rolesSchema>

/** Whether an entry of `roles` without its platform is a role of the platform, and no user id. */
export function isPlatformRole(entry: string, { userRoles = [] }: Pick<PlatformManifest, 'userRoles'>): boolean {
  return userRoles.some((role) => entry.split(':')[0] === role.split(':')[0])
}

/** A role of a platform that is written without what it needs would match no one. */
function rolesConfig(platforms: readonly PlatformManifest[]) {
  return rolesSchema.superRefine((roles, context) => {
    for (const list of ['owners', 'members', 'guests'] as const) {
      for (const [index, entry] of roles[list].entries()) {
        const issue = platforms
          .map((platform) => platformRoleIssue(entry, platform))
          .find((problem) => problem !== undefined)
        if (issue !== undefined) context.addIssue({ code: 'custom', path: [list, index], message: issue })
      }
    }
  })
}

function platformRoleIssue(entry: string, platform: PlatformManifest): string | undefined {
  const name = entry.slice(platform.name.length + 1)
  if (!entry.startsWith(`${platform.name}:`) || !isPlatformRole(name, platform)) return undefined
  const [kind, value = ''] = [name.split(':')[0] ?? '', name.split(':').slice(1).join(':')]
  const role = platform.userRoles?.find((userRole) => userRole.split(':')[0] === kind) ?? kind
  return role.includes(':') === (value !== '') ? undefined : `expected "${platform.name}:${role}"`
}

/** The sections `platforms` and `gateway` for the installed platforms. */
export function platformConfig(platforms: readonly PlatformManifest[]) {
  const sections: Record<string, z.ZodType> = {}
  for (const platform of platforms) sections[platform.name] = platformSection(platform)
  return {
    catch_up: z
      .object({
        max: z
          .int()
          .min(1)
          .max(100_000)
          .default(1_000)
          .describe(
            'How many missed messages of one chat or thread are fetched after an outage. Older ones are skipped and reported.',
          ),
      })
      .prefault({})
      .describe('Messages that were written while the gateway was not connected.'),
    platforms: z.object(sections).prefault({}).describe('The chat platforms of the agent.'),
    gateway: z.object(gatewaySettingsSchema.shape).prefault({}),
    roles: rolesConfig(platforms).prefault({}).describe('Who may cause what.'),
  } as const
}

/** The variables of the manifests, and those that every platform with allow lists has. */
export function platformVariables(platforms: readonly PlatformManifest[]): PlatformVariable[] {
  return [...platforms.flatMap(manifestVariables), ...gatewayVariables]
}

const gatewayVariables: readonly PlatformVariable[] = [
  { variable: 'GATEWAY_ALLOWED_USERS', path: ['gateway', 'allowed_users'], kind: 'list' },
  { variable: 'GATEWAY_ALLOW_ALL_USERS', path: ['gateway', 'allow_all_users'], kind: 'boolean' },
]

function manifestVariables({ name, access, environment }: PlatformManifest): PlatformVariable[] {
  const variables = environment.map(({ variable, key, kind }) => ({ variable, path: ['platforms', name, key], kind }))
  const prefix = name.toUpperCase().replaceAll('-', '_')
  const general = (suffix: string, key: string, kind: PlatformVariable['kind']): PlatformVariable => ({
    variable: `${prefix}_${suffix}`,
    path: ['platforms', name, key],
    kind,
  })
  if (access !== 'allowlist')
    return [
      ...variables,
      general('HOME_CHANNEL', 'home_channel', 'string'),
      general('HOME_CHANNEL_NAME', 'home_channel_name', 'string'),
    ]
  return [
    ...variables,
    general('ALLOWED_USERS', 'allow_from', 'list'),
    general('ALLOW_ALL_USERS', 'allow_all_users', 'boolean'),
    general('ALLOW_BOTS', 'allow_bots', 'string'),
    general('GROUP_ALLOWED_USERS', 'group_allow_from', 'list'),
    general('GROUP_ALLOWED_CHATS', 'group_allowed_chats', 'list'),
    general('HOME_CHANNEL', 'home_channel', 'string'),
    general('HOME_CHANNEL_NAME', 'home_channel_name', 'string'),
  ]
}

function platformSection(platform: PlatformManifest): z.ZodType {
  const { options, accounts, label, description } = platform
  const types = Object.fromEntries(options.map((option) => [option.key, optionType(option, true)]))
  const perAccount = Object.fromEntries(options.map((option) => [option.key, optionType(option, false)]))
  const severalAccounts = accounts
    ? {
        accounts: z
          .record(
            z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, {
              error: 'expected a name of at most 32 lower-case letters, digits, - and _',
            }),
            z.object({ ...accountFields, ...perAccount }),
          )
          .optional()
          .describe('Further bot identities by name. Each inherits missing settings, except credentials.'),
      }
    : {}
  return z
    .object({ ...accountFields, ...types, ...severalAccounts })
    .prefault({})
    .describe(description === '' ? label : description)
}

function optionType(option: PlatformOption, withDefault: boolean): z.ZodType {
  const type = valueType(option)
  const optional =
    withDefault && option.default !== undefined && option.default !== null
      ? type.prefault(option.default)
      : type.optional()
  // `writeOnly` marks secrets in JSON Schema: values that are set but never shown.
  return optional.meta({ description: option.description, ...(option.secret ? { writeOnly: true } : {}) })
}

function valueType(option: PlatformOption): z.ZodType {
  switch (option.type) {
    case 'string':
    case 'number':
      if (option.enum !== undefined) return z.literal([...option.enum])
      return option.type === 'string' ? z.string() : z.number()
    case 'boolean':
      return z.boolean()
    case 'list':
      return idListSchema
    case 'map':
      return z.record(z.string(), z.unknown())
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
