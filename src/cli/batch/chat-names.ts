/**
 * The names of the chats in which prompts of batches are asked.
 */

/** Chats that begin so are no conversations of a person. */
export const batchChatPrefix = 'batch.'
