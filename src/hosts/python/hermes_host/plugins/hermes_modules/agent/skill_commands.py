"""The gateway passes on what the user wrote, without the text of skills."""


def extract_user_instruction_from_skill_message(message):
    return message if isinstance(message, str) else ""
