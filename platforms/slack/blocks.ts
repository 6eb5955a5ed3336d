/**
 * Slack's blocks for what text alone cannot carry: buttons, pictures, long edits.
 */
import type { Button } from '#sdk'
import type { Fields } from './payload.ts'
import { clip, cutPieces } from './pieces.ts'

/** What all sections of a message may hold together; above it Slack refuses the blocks, at a length it does not tell. */
export const blocksChars = 10_000
/** What a Markdown block holds. */
export const markdownChars = 12_000
const sectionChars = 3_000
const buttonChars = 75
const buttonsPerRow = 25

export function sections(mrkdwn: string): Fields[] {
  return cutPieces(mrkdwn, sectionChars).map((text) => ({
    type: 'section',
    text: { type: 'mrkdwn', text },
    expand: true,
  }))
}

export function buttonRows(buttons: readonly Button[]): Fields[] {
  const rows: Fields[] = []
  for (let at = 0; at < buttons.length; at += buttonsPerRow) {
    rows.push({ type: 'actions', elements: buttons.slice(at, at + buttonsPerRow).map(button) })
  }
  return rows
}

function button({ id, label, style }: Button): Fields {
  return {
    type: 'button',
    action_id: id,
    value: id,
    text: { type: 'plain_text', text: clip(label, buttonChars), emoji: true },
    ...(style === undefined ? {} : { style }),
  }
}

export function picture(url: string, name: string, caption: string): Fields[] {
  const image = { type: 'image', image_url: url, alt_text: clip(name, 2_000) }
  return caption === '' ? [image] : [...sections(caption), image]
}
