/**
 * `images`: the pictures of a message, JSON; null for a message without any. The index is for the files that no message needs.
 */
export const messageImages = `
alter table messages add column images text;
create index messages_with_images on messages (session_id) where images is not null;
`
