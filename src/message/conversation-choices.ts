/**
 * The values of the settings that a person may choose for one conversation. The configuration, the commands and their menus
 * offer the same.
 */

/** What a message does that arrives while the agent works. */
export const busyInputModes = ['interrupt', 'queue', 'steer', 'collect'] as const
export type BusyInputMode = (typeof busyInputModes)[number]

/** Which tools of a turn a chat shows. */
export const toolProgressModes = ['off', 'new', 'all', 'verbose'] as const
export type ToolProgressMode = (typeof toolProgressModes)[number]

/** How much the model reasons before it answers. `ultra` is another name of `max`, as in Hermes. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const
/** An effort that is sent. */
export type ReasoningEffort = Exclude<(typeof reasoningEfforts)[number], 'ultra'>
