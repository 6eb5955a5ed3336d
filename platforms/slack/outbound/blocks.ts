/**
 * Creates Slack's blocks for buttons, images and long edits.
 */
import type { Button } from '#sdk'
import type { JsonRecord } from '../inbound/payload.ts'
import { splitText, truncate } from './chunk.ts'

/** The limit of all sections of a message together. Slack rejects more, at an undocumented length. */
export const maxBlocksChars = 10_000
/** The limit of a Markdown block. */
export const maxMarkdownBlockChars = 12_000
const maxSectionChars = 3_000
const maxButtonChars = 75
const buttonsPerRow = 25

export function sectionBlocks(mrkdwn: string): JsonRecord[] {
  return splitText(mrkdwn, maxSectionChars).map((text) => ({
    type: 'section',
    text: { type: 'mrkdwn', text },
    expand: true,
  }))
}

export function buttonRows(buttons: readonly Button[]): JsonRecord[] {
  const rows: JsonRecord[] = []
  for (let at = 0; at < buttons.length; at += buttonsPerRow) {
    rows.push({ type: 'actions', elements: buttons.slice(at, at + buttonsPerRow).map(buttonElement) })
  }
  return rows
}

function buttonElement({ id, label, style }: Button): JsonRecord {
  return {
    type: 'button',
    action_id: id,
    value: id,
    text: { type: 'plain_text', text: truncate(label, maxButtonChars), emoji: true },
    style,
  }
}

export function imageBlocks(url: string, name: string, caption: string): JsonRecord[] {
  const image = { type: 'image', image_url: url, alt_text: truncate(name, 2_000) }
  return caption === '' ? [image] : [...sectionBlocks(caption), image]
}
